//! References that come back to where they began without a step into the value: no check of them
//! would end.

use super::node::{Id, Node};

/// A node that is checked against the same value again by itself, if there is one.
pub(super) fn first(nodes: &[Node]) -> Option<Id> {
    /// Not seen, on the way from the start, done.
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        Not,
        OnTheWay,
        Done,
    }
    let mut seen = vec![Seen::Not; nodes.len()];
    for start in 0..nodes.len() {
        let mut way: Vec<(Id, Vec<Id>)> = Vec::new();
        let mut next = (seen[start] == Seen::Not).then_some(start);
        loop {
            if let Some(id) = next.take() {
                seen[id] = Seen::OnTheWay;
                way.push((id, same_value(&nodes[id])));
            }
            let Some((id, left)) = way.last_mut() else { break };
            match left.pop() {
                Some(inner) if seen[inner] == Seen::OnTheWay => return Some(inner),
                Some(inner) => next = (seen[inner] == Seen::Not).then_some(inner),
                None => {
                    seen[*id] = Seen::Done;
                    way.pop();
                }
            }
        }
    }
    None
}

/// The schemas that a node holds the same value against.
fn same_value(node: &Node) -> Vec<Id> {
    match node {
        Node::Rules(rules) => rules.parts.iter().flat_map(|parts| parts.ids()).collect(),
        Node::Anything | Node::Nothing => Vec::new(),
    }
}
