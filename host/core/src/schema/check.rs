//! One check: a value against the nodes, in steps that are counted before they are taken.

use super::finding::{SchemaFinding, ValueRefusal};
use super::node::{NodeId, NumberRules, SchemaNode, TextRules, ValueRules};
use super::number::{Num, is_multiple};
use super::{DEPTH_MAX, FINDINGS_MAX, Schema, words};
use serde_json::{Number, Value};
use std::cmp::Ordering;

/// A schema that meets a value. One byte of a text that is searched, compared or counted is one
/// step, and so this many times cheaper.
pub(super) const VISIT: u64 = 16;
/// Steps between two looks at whether the check is still wanted: about a millisecond.
const LOOK: u64 = 1 << 20;

/// Whether a value fits, or what ends its check without an answer.
pub(super) type Fits = Result<bool, ValueRefusal>;

pub(super) struct Check<'a> {
    pub(super) nodes: &'a [SchemaNode],
    steps: u64,
    /// With fewer left, somebody looks.
    look_below: u64,
    stopped: &'a dyn Fn() -> bool,
    depth: usize,
    /// In how many tries, whose problems nobody is told, the check is.
    tries: usize,
    pub(super) findings: Vec<SchemaFinding>,
}

impl Schema {
    /// Whether the value fits, in at most so many steps.
    ///
    /// # Errors
    /// [`ValueRefusal`]: the first problems with their places, or that the steps do not suffice.
    pub fn check(&self, value: &Value, steps: u64) -> Result<(), ValueRefusal> {
        self.check_until(value, steps, &|| false)
    }

    /// The same, given up once `stopped` says so.
    ///
    /// # Errors
    /// As those of [`Schema::check`].
    pub fn check_until(
        &self,
        value: &Value,
        steps: u64,
        stopped: &dyn Fn() -> bool,
    ) -> Result<(), ValueRefusal> {
        let mut check = Check {
            nodes: &self.nodes,
            steps,
            look_below: steps,
            stopped,
            depth: 0,
            tries: 0,
            findings: Vec::new(),
        };
        if check.visit(0, value)? {
            return Ok(());
        }
        check.findings.truncate(FINDINGS_MAX);
        Err(ValueRefusal::Unfit(check.findings))
    }
}

impl<'a> Check<'a> {
    /// Takes steps that are about to be made.
    pub(super) fn spend(&mut self, steps: u64) -> Result<(), ValueRefusal> {
        self.steps = self.steps.checked_sub(steps).ok_or(ValueRefusal::TooCostly)?;
        if self.steps < self.look_below {
            self.look_below = self.steps.saturating_sub(LOOK);
            if (self.stopped)() {
                return Err(ValueRefusal::Stopped);
            }
        }
        Ok(())
    }

    /// The same for so many bytes of text.
    pub(super) fn spend_bytes(&mut self, text: &str) -> Result<(), ValueRefusal> {
        self.spend(text.len() as u64)
    }

    /// Goes into something, not deeper than [`DEPTH_MAX`].
    pub(super) fn descend<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, ValueRefusal>,
    ) -> Result<T, ValueRefusal> {
        if self.depth >= DEPTH_MAX {
            return Err(ValueRefusal::TooDeep);
        }
        self.depth += 1;
        let done = inner(self);
        self.depth -= 1;
        done
    }

    /// Whether a node takes the value. Problems are noted, unless this is a try.
    pub(super) fn visit(&mut self, id: NodeId, value: &Value) -> Fits {
        self.spend(VISIT)?;
        let nodes = self.nodes;
        match &nodes[id] {
            SchemaNode::Anything => Ok(true),
            SchemaNode::Nothing => self.fail(|_| SchemaFinding::new("is not allowed; leave it out")),
            SchemaNode::Rules(rules) if !rules.types.admit(value) => {
                self.fail(|_| SchemaFinding::new(rules.must_be_instead(value)))
            }
            SchemaNode::Rules(rules) if rules.plain => Ok(true),
            SchemaNode::Rules(rules) => self.descend(|check| check.rules(rules, value)),
        }
    }

    /// The same, and nobody is told why not.
    pub(super) fn try_quietly(&mut self, id: NodeId, value: &Value) -> Fits {
        self.tries += 1;
        let fits = self.visit(id, value);
        self.tries -= 1;
        fits
    }

    /// Notes a problem, where somebody is told.
    pub(super) fn fail(&mut self, finding: impl FnOnce(&Self) -> SchemaFinding) -> Fits {
        if self.tries == 0 && self.findings.len() < FINDINGS_MAX {
            let finding = finding(self);
            self.findings.push(finding);
        }
        Ok(false)
    }

    /// Whether there is anything to look for after this.
    pub(super) fn should_go_on(&self, fits: bool) -> bool {
        fits || (self.tries == 0 && self.findings.len() < FINDINGS_MAX)
    }

    /// Whether there are as many of `what` as there must be.
    pub(super) fn check_count(
        &mut self,
        count: usize,
        min: Option<u64>,
        max: Option<u64>,
        what: &str,
    ) -> Fits {
        let found = count as u64;
        if min.is_none_or(|min| found >= min) && max.is_none_or(|max| found <= max) {
            return Ok(true);
        }
        self.fail(|_| {
            let (plural, counts) = (words::plural(what), words::counts(min, max, what));
            SchemaFinding::new(format!("has {count} {plural}; {counts}"))
        })
    }

    /// What the schema of a part says, such as a property; its problems are `moved` below that.
    pub(super) fn check_part(
        &mut self,
        id: NodeId,
        value: &Value,
        moved: impl FnMut(&mut SchemaFinding),
    ) -> Fits {
        let before = self.findings.len();
        let fits = self.visit(id, value)?;
        self.findings[before..].iter_mut().for_each(moved);
        Ok(fits)
    }

    fn rules(&mut self, rules: &ValueRules, value: &Value) -> Fits {
        let mut fits = true;
        for choice in &rules.choices {
            fits &= self.check_choice(choice, value)?;
        }
        if self.should_go_on(fits) {
            fits &= match value {
                Value::Number(number) => self.number(&rules.number, number)?,
                Value::String(text) => self.text(&rules.text, text)?,
                Value::Array(items) => match &rules.list {
                    Some(list) => self.list(list, items)?,
                    None => true,
                },
                Value::Object(fields) => match &rules.object {
                    Some(object) => self.object(object, fields)?,
                    None => true,
                },
                Value::Null | Value::Bool(_) => true,
            };
        }
        match &rules.parts {
            Some(parts) if self.should_go_on(fits) => Ok(fits & self.parts(parts, value)?),
            _ => Ok(fits),
        }
    }

    /// `enum` and `const`.
    fn check_choice(&mut self, choice: &[Value], value: &Value) -> Fits {
        for one in choice {
            if self.equal(one, value)? {
                return Ok(true);
            }
        }
        self.fail(|_| SchemaFinding::new(words::describe_choice(choice)))
    }

    fn number(&mut self, rules: &NumberRules, number: &Number) -> Fits {
        if rules.is_empty() {
            return Ok(true);
        }
        let num = Num::from_json(number);
        let fails = |bound: &Option<Num>, refuses: &[Ordering]| {
            bound.is_some_and(|bound| num.compare(bound).is_none_or(|order| refuses.contains(&order)))
        };
        let too_low = fails(&rules.minimum, &[Ordering::Less]);
        let too_high = fails(&rules.maximum, &[Ordering::Greater]);
        let not_above = fails(&rules.above, &[Ordering::Less, Ordering::Equal]);
        let not_below = fails(&rules.below, &[Ordering::Greater, Ordering::Equal]);
        if too_low || too_high || not_above || not_below {
            return self.fail(|_| SchemaFinding::new(rules.within()));
        }
        let Some(of) = &rules.multiple_of else { return Ok(true) };
        self.spend(VISIT * 8)?;
        if is_multiple(number, of) {
            return Ok(true);
        }
        self.fail(|_| SchemaFinding::new(format!("must be a multiple of {of}")))
    }

    fn text(&mut self, rules: &TextRules, text: &str) -> Fits {
        if rules.min.is_some() || rules.max.is_some() {
            self.spend_bytes(text)?;
            if !self.check_count(text.chars().count(), rules.min, rules.max, "character")? {
                return Ok(false);
            }
        }
        let Some(pattern) = &rules.pattern else { return Ok(true) };
        self.spend_bytes(text)?;
        if pattern.is_in(text) {
            return Ok(true);
        }
        self.fail(|_| SchemaFinding::new(format!("must match the pattern {}", words::short(&pattern.text))))
    }
}
