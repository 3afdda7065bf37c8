//! Who is served: decided from the sender's number and the kind of chat, before anything else of a
//! message is used.

use super::wire::{ChatKind, Message, SentFor};
use cofferdam_chat::people::{GroupMembers, SenderReply};
use std::collections::BTreeSet;

/// What is due to the sender. Strangers in groups get silence: an answer would invite abuse.
///
/// `members` says who of the message's group is served; in private it does not count.
pub(super) fn admit(message: &Message, allowed: &BTreeSet<i64>, members: GroupMembers) -> SenderReply {
    let Some(from) = message.from else { return SenderReply::Ignore("no sender") };
    match (message.chat.kind, message.on_behalf) {
        (ChatKind::Other, ..) => SenderReply::Ignore("not a private chat or group"),
        _ if from.is_bot => SenderReply::Ignore("a bot"),
        // The person behind it cannot be told from others.
        (_, SentFor::Chat) => SenderReply::Ignore("sent in the name of a chat"),
        (_, SentFor::Account) => SenderReply::Ignore("written by a bot in somebody's name"),
        // A private chat has the number of its person; in any other the answer would reach somebody
        // else.
        (ChatKind::Private, ..) if message.chat.id != from.id => SenderReply::Ignore("a chat of others"),
        (ChatKind::Group, ..) if members == GroupMembers::None => {
            SenderReply::Ignore("nobody is served in this group")
        }
        (ChatKind::Group, ..) if members == GroupMembers::All => SenderReply::Serve(from.id),
        _ if allowed.contains(&from.id) => SenderReply::Serve(from.id),
        (ChatKind::Private, ..) => SenderReply::Tell(from.id),
        (ChatKind::Group, ..) => SenderReply::Ignore("a stranger in a group"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::wire::{Chat, User};
    use super::*;

    fn person(id: i64) -> User {
        User { id, is_bot: false }
    }

    fn bot(id: i64) -> User {
        User { id, is_bot: true }
    }

    fn check(chat: ChatKind, from: Option<User>, on_behalf: SentFor, expected: SenderReply) {
        let id = if chat == ChatKind::Private { from.map_or(0, |user| user.id) } else { -1 };
        let message = Message { chat: Chat { id, kind: chat }, from, on_behalf, ..Message::default() };
        let allowed = BTreeSet::from([7]);
        assert_eq!(admit(&message, &allowed, GroupMembers::Allowed), expected);
        // What holds in groups says nothing of private chats, and never lets in who is no person.
        if chat != ChatKind::Group {
            for members in [GroupMembers::All, GroupMembers::None] {
                assert_eq!(admit(&message, &allowed, members), expected);
            }
        }
    }

    #[test]
    fn a_group_may_serve_all_or_nobody() {
        let message = |from: User, on_behalf| Message {
            chat: Chat { id: -1, kind: ChatKind::Group },
            from: Some(from),
            on_behalf,
            ..Message::default()
        };
        let (ann, eve, bot) = (person(7), person(8), bot(9));
        let allowed = BTreeSet::from([7]);
        let all = |from, on_behalf| admit(&message(from, on_behalf), &allowed, GroupMembers::All);
        assert_eq!(all(ann, SentFor::Sender), SenderReply::Serve(7));
        assert_eq!(all(eve, SentFor::Sender), SenderReply::Serve(8));
        assert_eq!(all(bot, SentFor::Sender), SenderReply::Ignore("a bot"));
        assert_eq!(all(eve, SentFor::Chat), SenderReply::Ignore("sent in the name of a chat"));
        let none = admit(&message(ann, SentFor::Sender), &allowed, GroupMembers::None);
        assert_eq!(none, SenderReply::Ignore("nobody is served in this group"));
    }

    #[test]
    fn only_named_people_are_served() {
        let (ann, eve) = (Some(person(7)), Some(person(8)));
        check(ChatKind::Private, ann, SentFor::Sender, SenderReply::Serve(7));
        check(ChatKind::Group, ann, SentFor::Sender, SenderReply::Serve(7));
        check(ChatKind::Private, eve, SentFor::Sender, SenderReply::Tell(8));
        check(ChatKind::Group, eve, SentFor::Sender, SenderReply::Ignore("a stranger in a group"));
        check(ChatKind::Other, ann, SentFor::Sender, SenderReply::Ignore("not a private chat or group"));
        check(ChatKind::Group, ann, SentFor::Chat, SenderReply::Ignore("sent in the name of a chat"));
        let by_a_bot = SenderReply::Ignore("written by a bot in somebody's name");
        check(ChatKind::Private, ann, SentFor::Account, by_a_bot);
        check(ChatKind::Private, Some(bot(7)), SentFor::Sender, SenderReply::Ignore("a bot"));
        check(ChatKind::Group, None, SentFor::Sender, SenderReply::Ignore("no sender"));
    }

    #[test]
    fn a_private_chat_is_that_of_its_person() {
        for id in [8, -1, 0] {
            let message = Message {
                chat: Chat { id, kind: ChatKind::Private },
                from: Some(person(7)),
                ..Message::default()
            };
            let admitted = admit(&message, &BTreeSet::from([7, 8]), GroupMembers::Allowed);
            assert_eq!(admitted, SenderReply::Ignore("a chat of others"), "{id}");
        }
    }

    #[test]
    fn an_empty_list_serves_nobody() {
        let message = Message {
            chat: Chat { id: 7, kind: ChatKind::Private },
            from: Some(person(7)),
            ..Message::default()
        };
        assert_eq!(admit(&message, &BTreeSet::new(), GroupMembers::Allowed), SenderReply::Tell(7));
    }
}
