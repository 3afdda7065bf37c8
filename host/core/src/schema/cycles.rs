//! References that come back to where they began without a step into the value: no check of them
//! would end.

use super::node::{NodeId, SchemaNode};

/// A node that is checked against the same value again by itself, if there is one.
pub(super) fn first(nodes: &[SchemaNode]) -> Option<NodeId> {
    /// Not seen, on the way from the start, done.
    #[derive(Clone, Copy, PartialEq)]
    enum VisitState {
        Not,
        OnTheWay,
        Done,
    }
    let mut seen = vec![VisitState::Not; nodes.len()];
    for start in 0..nodes.len() {
        let mut way: Vec<(NodeId, Vec<NodeId>)> = Vec::new();
        let mut next = (seen[start] == VisitState::Not).then_some(start);
        loop {
            if let Some(id) = next.take() {
                seen[id] = VisitState::OnTheWay;
                way.push((id, nodes[id].parts().into_iter().flat_map(|parts| parts.ids()).collect()));
            }
            let Some((id, left)) = way.last_mut() else { break };
            match left.pop() {
                Some(inner) if seen[inner] == VisitState::OnTheWay => return Some(inner),
                Some(inner) => next = (seen[inner] == VisitState::Not).then_some(inner),
                None => {
                    seen[*id] = VisitState::Done;
                    way.pop();
                }
            }
        }
    }
    None
}
