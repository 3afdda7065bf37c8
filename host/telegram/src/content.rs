//! What a message without usable text or media is: an event that Telegram reports, or something
//! that a person sent and that nothing here uses.

use serde_json::Value;

/// What a message consists of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum MessageContent {
    /// Text, media, or both.
    Usable,
    /// Telegram reports something: a pinned message, a new member.
    Service,
    /// Something else that a person sent, by its name in the API.
    Unknown(&'static str),
    /// The JSON itself cannot be read.
    #[default]
    Unreadable,
}

/// Kinds of content that people send and that this channel does not use.
const UNUSED: &[&str] = &[
    "location",
    "venue",
    "contact",
    "poll",
    "dice",
    "game",
    "story",
    "paid_media",
    "invoice",
    "checklist",
    "giveaway",
    "web_app_data",
    "users_shared",
    "chat_shared",
];

/// Fields of a message that say nothing about its content.
const FRAME: &[&str] = &[
    "message_id",
    "message_thread_id",
    "from",
    "sender_chat",
    "sender_boost_count",
    "sender_business_bot",
    "date",
    "business_connection_id",
    "chat",
    "is_topic_message",
    "is_automatic_forward",
    "reply_to_message",
    "external_reply",
    "quote",
    "reply_to_story",
    "via_bot",
    "edit_date",
    "has_protected_content",
    "is_from_offline",
    "author_signature",
    "reply_markup",
    "effect_id",
    "forward_origin",
    "forward_from",
    "forward_date",
    "show_caption_above_media",
    "has_media_spoiler",
    "link_preview_options",
    "entities",
    "caption_entities",
    "media_group_id",
];

/// The content of a message without text and media. What no list knows is taken for something that
/// a person sent: an answer too many is better than silence.
pub(super) fn other_content(message: &Value) -> MessageContent {
    if let Some(kind) = UNUSED.iter().find(|kind| !message[**kind].is_null()) {
        return MessageContent::Unknown(kind);
    }
    let fields = message.as_object().into_iter().flat_map(|fields| fields.keys());
    let rest: Vec<&String> = fields.filter(|key| !FRAME.contains(&key.as_str())).collect();
    if !rest.is_empty() && rest.iter().all(|key| is_service(key)) {
        return MessageContent::Service;
    }
    MessageContent::Unknown("unknown")
}

/// Whether a field tells of an event rather than of something sent.
fn is_service(key: &str) -> bool {
    const EXACT: &[&str] = &[
        "pinned_message",
        "connected_website",
        "write_access_allowed",
        "proximity_alert_triggered",
        "boost_added",
        "chat_background_set",
        "message_auto_delete_timer_changed",
        "successful_payment",
        "refunded_payment",
        "left_chat_member",
        "passport_data",
        "gift",
        "unique_gift",
    ];
    const STARTS: &[&str] = &[
        "new_chat_",
        "delete_chat_photo",
        "group_chat_",
        "supergroup_chat_",
        "channel_chat_",
        "migrate_",
        "forum_topic_",
        "general_forum_topic_",
        "video_chat_",
        "giveaway_",
        "checklist_tasks_",
        "direct_message_",
        "suggested_post_",
        "paid_message_",
    ];
    EXACT.contains(&key) || STARTS.iter().any(|start| key.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn content(mut message: Value) -> MessageContent {
        message["message_id"] = 5.into();
        message["date"] = 1.into();
        other_content(&message)
    }

    #[test]
    fn content_is_told_apart() {
        assert_eq!(
            content(json!({ "location": { "latitude": 1 }, "venue": {} })),
            MessageContent::Unknown("location")
        );
        assert_eq!(content(json!({ "hologram": {} })), MessageContent::Unknown("unknown"));
        assert_eq!(content(json!({ "text": 5 })), MessageContent::Unknown("unknown"));
        assert_eq!(content(json!({})), MessageContent::Unknown("unknown"));
        assert_eq!(content(json!({ "new_chat_title": "x" })), MessageContent::Service);
        assert_eq!(content(json!({ "pinned_message": {}, "date": 1 })), MessageContent::Service);
    }
}
