//! Schemas made of other schemas for the same value: references, all, any, one, not, if.

use super::check::{Check, Fits};
use super::finding::SchemaFinding;
use super::node::{ListItems, NodeId, SchemaNode};
use serde_json::Value;

impl Check<'_> {
    pub(super) fn parts(&mut self, parts: &ListItems, value: &Value) -> Fits {
        let mut fits = true;
        for id in parts.reference.iter().chain(&parts.all) {
            fits &= self.visit(*id, value)?;
            if !self.should_go_on(fits) {
                return Ok(false);
            }
        }
        if !parts.any.is_empty() {
            fits &= self.any(&parts.any, value)?;
        }
        if !parts.one.is_empty() && self.should_go_on(fits) {
            fits &= self.check_one_of(&parts.one, value)?;
        }
        if let Some(id) = parts.not
            && self.should_go_on(fits)
            && self.try_quietly(id, value)?
        {
            fits = self.fail(|check| {
                let what = check.phrase(id).map_or_else(String::new, |what| format!(": not {what}"));
                SchemaFinding::new(format!("is what the tool does not take{what}"))
            })?;
        }
        if let Some(test) = parts.test
            && self.should_go_on(fits)
            && (parts.then.is_some() || parts.otherwise.is_some())
        {
            let then = if self.try_quietly(test, value)? { parts.then } else { parts.otherwise };
            if let Some(id) = then {
                fits &= self.visit(id, value)?;
            }
        }
        Ok(fits)
    }

    fn any(&mut self, ids: &[NodeId], value: &Value) -> Fits {
        for id in ids {
            if self.try_quietly(*id, value)? {
                return Ok(true);
            }
        }
        self.report_none(ids, value)
    }

    fn check_one_of(&mut self, ids: &[NodeId], value: &Value) -> Fits {
        let mut found = 0;
        for id in ids {
            found += usize::from(self.try_quietly(*id, value)?);
            if found > 1 {
                return self.fail(|_| {
                    SchemaFinding::new("fits more than one of its forms, and must fit exactly one; give what tells them apart")
                });
            }
        }
        if found == 1 { Ok(true) } else { self.report_none(ids, value) }
    }

    /// Says what the value should have been, where it is none of these.
    fn report_none(&mut self, ids: &[NodeId], value: &Value) -> Fits {
        // Nobody is told of what is found now.
        if !self.should_go_on(false) {
            return Ok(false);
        }
        // The form that is meant: the only one of this type, or the one that a property names.
        let of_type: Vec<NodeId> = ids.iter().copied().filter(|id| self.accepts_type(*id, value)).collect();
        let meant = match of_type.as_slice() {
            [only] => Some(*only),
            several => several.iter().copied().find(|id| self.is_named(*id, value)),
        };
        if let Some(id) = meant {
            let before = self.findings.len();
            let fits = self.visit(id, value)?;
            if self.findings.len() > before {
                return Ok(fits);
            }
        }
        self.fail(|check| {
            SchemaFinding::new(
                check.any_of(ids).unwrap_or_else(|| "fits none of the forms that the tool takes".into()),
            )
        })
    }

    /// Whether a node takes values of this type at all, as far as it says so itself or by its
    /// reference.
    fn accepts_type(&self, id: NodeId, value: &Value) -> bool {
        match &self.nodes[self.follow_reference(id)] {
            SchemaNode::Anything => true,
            SchemaNode::Nothing => false,
            SchemaNode::Rules(rules) => rules.types.admit(value) || rules.types.refuse_rounded(value),
        }
    }

    /// Whether a property of the value has exactly the text that this form wants there, and no
    /// other.
    fn is_named(&self, id: NodeId, value: &Value) -> bool {
        let rules = self.nodes[self.follow_reference(id)].rules();
        let (Some(object), Value::Object(fields)) = (rules.and_then(|rules| rules.object.as_ref()), value)
        else {
            return false;
        };
        fields.iter().take(20).any(|(name, value)| {
            let rules = object.properties.get(name).and_then(|id| self.nodes[*id].rules());
            let choices = rules.map(|rules| rules.choices.as_slice());
            value.is_string()
                && matches!(choices, Some([choice]) if choice.as_slice() == std::slice::from_ref(value))
        })
    }
}
