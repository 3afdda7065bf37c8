//! Lists and objects: what their items and properties must be, and how many.

use super::check::{Check, Fits, VISIT};
use super::finding::{Mismatch, SchemaFinding};
use super::node::{ListRules, ObjectRules, SchemaNode};
use super::words;
use serde_json::{Map, Value};

impl Check<'_> {
    pub(super) fn list(&mut self, rules: &ListRules, items: &[Value]) -> Fits {
        if !self.check_count(items.len(), rules.min, rules.max, "item")? {
            return Ok(false);
        }
        let mut fits = true;
        for (index, item) in items.iter().enumerate() {
            let Some(id) = rules.prefix.get(index).copied().or(rules.rest) else { break };
            fits &= self.check_part(id, item, |finding| finding.move_below(&format!("[{index}]")))?;
            if !self.should_go_on(fits) {
                return Ok(false);
            }
        }
        fits &= self.contains(rules, items)?;
        if rules.unique
            && self.should_go_on(fits)
            && let Some((a, b)) = self.find_duplicate(items)?
        {
            return self.fail(|_| {
                SchemaFinding::new(format!("has the same item twice, as [{a}] and [{b}]; give it once"))
            });
        }
        Ok(fits)
    }

    fn contains(&mut self, rules: &ListRules, items: &[Value]) -> Fits {
        let Some(id) = rules.contains else { return Ok(true) };
        let (min, max) = (rules.contains_min.unwrap_or(1), rules.contains_max);
        let mut found = 0;
        for item in items {
            found += u64::from(self.try_quietly(id, item)?);
        }
        if found >= min && max.is_none_or(|max| found <= max) {
            return Ok(true);
        }
        self.fail(|check| {
            let what = check.phrase(id).unwrap_or_else(|| "what the tool looks for in it".into());
            let counts = words::counts(Some(min), max, "item");
            SchemaFinding::new(format!("has {found} items that are {what}; {counts} of them"))
        })
    }

    pub(super) fn object(&mut self, rules: &ObjectRules, fields: &Map<String, Value>) -> Fits {
        let mut fits = true;
        // Unknown names first: the one that is missing is often among them.
        for (name, value) in fields {
            fits &= self.property(rules, name, value)?;
            if !self.should_go_on(fits) {
                return Ok(false);
            }
        }
        for name in &rules.required {
            fits &= self.required(rules, fields, name, None)?;
            if !self.should_go_on(fits) {
                return Ok(false);
            }
        }
        for (given, needed) in &rules.dependent {
            self.spend(VISIT + given.len() as u64)?;
            if !fields.contains_key(given) {
                continue;
            }
            for name in needed {
                fits &= self.required(rules, fields, name, Some(given))?;
                if !self.should_go_on(fits) {
                    return Ok(false);
                }
            }
        }
        Ok(fits & self.check_count(fields.len(), rules.min, rules.max, "property")?)
    }

    fn property(&mut self, rules: &ObjectRules, name: &str, value: &Value) -> Fits {
        self.spend(VISIT / 2)?;
        self.spend_bytes(name)?;
        let mut fits = true;
        if let Some(id) = rules.names {
            let whole = Value::String(name.to_owned());
            if !self.try_quietly(id, &whole)? {
                fits = self.fail(|check| {
                    let must = check.must_be(id).map_or_else(String::new, |must| format!("; a name {must}"));
                    SchemaFinding::new(format!("is not a name that is taken here{must}")).of_property(name)
                })?;
            }
        }
        let mut known = false;
        if let Some(id) = rules.properties.get(name) {
            known = true;
            fits &= self.check_part(*id, value, |finding| finding.move_below(name))?;
        }
        for (pattern, id) in &rules.patterns {
            self.spend(VISIT / 2)?;
            self.spend_bytes(name)?;
            if pattern.is_in(name) {
                known = true;
                fits &= self.check_part(*id, value, |finding| finding.move_below(name))?;
            }
        }
        match rules.additional {
            Some(id) if !known => {
                if matches!(self.nodes[id], SchemaNode::Nothing) {
                    return self
                        .fail(|_| SchemaFinding::new(words::unknown(name, &rules.named)).of_property(name));
                }
                Ok(fits & self.check_part(id, value, |finding| finding.move_below(name))?)
            }
            _ => Ok(fits),
        }
    }

    fn required(
        &mut self,
        rules: &ObjectRules,
        fields: &Map<String, Value>,
        name: &str,
        because: Option<&str>,
    ) -> Fits {
        self.spend(VISIT)?;
        self.spend_bytes(name)?;
        if fields.contains_key(name) {
            return Ok(true);
        }
        self.fail(|check| match because {
            None => {
                let example = rules.properties.get(name).and_then(|id| check.example(*id));
                SchemaFinding { place: String::new(), problem: Mismatch::Missing { example } }
                    .of_property(name)
            }
            Some(given) => {
                let given = words::short(given);
                SchemaFinding::new(format!("is missing; it goes with {given}")).of_property(name)
            }
        })
    }
}
