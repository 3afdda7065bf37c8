"""Talks to a Bot API server as any bot would, with aiogram, and says line by line what it found to be right.

The first thing that is not ends it with a traceback. `tests/it/unrelated.rs` prepares the server and reads the lines.
"""

import asyncio
import sys

from aiogram import Bot, exceptions
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.enums import ChatAction, ParseMode
from aiogram.types import (
    BotCommand,
    BufferedInputFile,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    InputMediaDocument,
    InputMediaPhoto,
    LinkPreviewOptions,
    ReplyParameters,
    TelegramObject,
)

URL, TOKEN, PERSON, PHOTO = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
# Chats whose messages go wrong, each in its own way.
BUSY, BLOCKED, MIGRATED, BROKEN, POLLED = PERSON + 1, PERSON + 2, PERSON + 3, PERSON + 4, PERSON + 5
NOBODY = PERSON + 999


def right(what):
    """Says so."""
    print(what, flush=True)


def known(value):
    """Holds that a value has no field that the published API lacks, and returns it."""
    if isinstance(value, list):
        return [known(item) for item in value]
    if isinstance(value, TelegramObject):
        assert not value.model_extra, f"fields that nobody knows: {value.model_extra} of {value!r}"
        for name in type(value).model_fields:
            known(getattr(value, name))
    return value


async def refused(error, call):
    """Holds that a call fails in this way, and returns how."""
    try:
        await call
    except error as found:
        assert type(found) is error, f"{found!r} is no {error}"
        return found
    raise AssertionError(f"no {error}")


async def account(bot):
    me = known(await bot.get_me())
    assert me.is_bot and str(me.id) == TOKEN.split(":")[0] and me.username, me
    right("getMe")
    assert known(await bot.get_webhook_info()).url == ""
    assert await bot.delete_webhook() is True
    right("webhook")
    commands = [BotCommand(command="help", description="List the tools"), BotCommand(command="new", description="Ü")]
    assert await bot.set_my_commands(commands) is True
    menu = [(command.command, command.description) for command in known(await bot.get_my_commands())]
    assert menu == [("help", "List the tools"), ("new", "Ü")], menu
    await refused(exceptions.TelegramBadRequest, bot.set_my_commands([BotCommand(command="No", description="x")]))
    right("commands")


async def updates(bot):
    kinds = ["message", "edited_message", "callback_query"]
    first = known(await bot.get_updates(limit=3, timeout=0, allowed_updates=kinds))
    assert [update.message.text for update in first] == ["hello", "/help@bot now", "in a group"], first
    assert first[0].message.from_user.id == PERSON and first[0].message.chat.type == "private"
    assert first[1].message.entities[0].type == "bot_command" and first[1].message.entities[0].length == 9
    assert first[2].message.chat.type == "supergroup" and first[2].message.message_thread_id == 7
    again = await bot.get_updates(limit=3, timeout=0)
    ids = [update.update_id for update in first]
    assert [update.update_id for update in again] == ids, "what no offset has confirmed comes again"
    right("getUpdates")
    rest = known(await bot.get_updates(offset=first[-1].update_id + 1, timeout=0))
    files = {update.message.content_type for update in rest if update.message}
    wanted = {"photo", "document", "voice", "audio", "video", "video_note", "sticker", "animation", "text"}
    assert files == wanted, files
    reply, edited, press = rest[-3:]
    assert reply.message.reply_to_message.text == "hello"
    assert edited.edited_message.edit_date, edited
    assert press.callback_query.data == "approve:1" and press.callback_query.message.message_id
    right("kinds of updates")
    document = next(update.message.document for update in rest if update.message and update.message.document)
    held = await bot.download(document)
    assert held.read() == b"what was sent" and document.file_size == 13
    right("download")
    right("waiting")
    last = known(await bot.get_updates(offset=rest[-1].update_id + 1, timeout=30))
    assert [update.message.text for update in last] == ["late"], last
    right("long poll")
    assert await bot.get_updates(offset=last[-1].update_id + 1, timeout=0) == []
    return first[0].message, press.callback_query


async def messages(bot, question):
    buttons = InlineKeyboardMarkup(inline_keyboard=[[InlineKeyboardButton(text="Yes", callback_data="yes")]])
    sent = known(
        await bot.send_message(
            PERSON,
            "<b>Bölder</b> &lt;x&gt; <code>y</code>",
            parse_mode=ParseMode.HTML,
            reply_parameters=ReplyParameters(message_id=question.message_id, allow_sending_without_reply=True),
            link_preview_options=LinkPreviewOptions(is_disabled=True),
            reply_markup=buttons,
        )
    )
    assert sent.text == "Bölder <x> y", sent
    assert [(e.type, e.offset, e.length) for e in sent.entities] == [("bold", 0, 6), ("code", 11, 1)], sent.entities
    assert sent.reply_to_message.message_id == question.message_id
    assert sent.reply_markup.inline_keyboard[0][0].callback_data == "yes"
    right("sendMessage")
    edited = known(await bot.edit_message_text("later", chat_id=PERSON, message_id=sent.message_id))
    assert edited.text == "later" and edited.edit_date and edited.reply_markup is None
    unchanged = bot.edit_message_text("later", chat_id=PERSON, message_id=sent.message_id)
    assert "message is not modified" in str(await refused(exceptions.TelegramBadRequest, unchanged))
    right("editMessageText")
    assert await bot.delete_message(PERSON, sent.message_id) is True
    await refused(exceptions.TelegramBadRequest, bot.delete_message(PERSON, sent.message_id))
    right("deleteMessage")
    for action in ChatAction.TYPING, ChatAction.UPLOAD_DOCUMENT:
        assert await bot.send_chat_action(PERSON, action) is True
    right("sendChatAction")


async def returned(bot, file, content):
    """Holds that a file that was sent can be had again, as it was."""
    found = known(await bot.get_file(file.file_id))
    assert found.file_unique_id == file.file_unique_id and found.file_size == len(content)
    assert (await bot.download_file(found.file_path)).read() == content


async def files(bot):
    with open(PHOTO, "rb") as file:
        picture = file.read()
    sent = known(await bot.send_photo(PERSON, BufferedInputFile(picture, "a.jpg"), caption="Ein Bild"))
    assert sent.caption == "Ein Bild" and sent.photo, sent
    await returned(bot, sent.photo[-1], picture)
    right("sendPhoto")
    content = bytes(range(256)) * 300
    named = BufferedInputFile(content, 'Müller "x" – 写真.bin')
    sent = known(await bot.send_document(PERSON, named))
    assert sent.document.file_name == 'Müller "x" – 写真.bin', sent
    await returned(bot, sent.document, content)
    right("sendDocument")
    for send in bot.send_voice, bot.send_audio, bot.send_video, bot.send_animation:
        known(await send(PERSON, BufferedInputFile(content, "a.bin")))
    right("other files")
    both = [InputMediaPhoto(media=BufferedInputFile(picture, f"{n}.jpg"), caption=f"{n}") for n in range(2)]
    album = known(await bot.send_media_group(PERSON, both))
    assert [message.caption for message in album] == ["0", "1"], album
    assert len({message.media_group_id for message in album}) == 1 and album[0].media_group_id
    mixed = [both[0], InputMediaDocument(media=BufferedInputFile(content, "a.bin"))]
    await refused(exceptions.TelegramBadRequest, bot.send_media_group(PERSON, mixed))
    right("sendMediaGroup")


async def errors(bot, press):
    assert await bot.answer_callback_query(press.id, text="Yes.", show_alert=True) is True
    await refused(exceptions.TelegramBadRequest, bot.answer_callback_query(press.id))
    right("answerCallbackQuery")
    assert (await refused(exceptions.TelegramRetryAfter, bot.send_message(BUSY, "x"))).retry_after == 7
    moved = await refused(exceptions.TelegramMigrateToChat, bot.send_message(MIGRATED, "x"))
    assert moved.migrate_to_chat_id == -1001234567890
    await refused(exceptions.TelegramForbiddenError, bot.send_message(BLOCKED, "x"))
    await refused(exceptions.TelegramServerError, bot.send_message(BROKEN, "x"))
    await refused(exceptions.TelegramConflictError, bot.send_message(POLLED, "x"))
    right("refusals")
    assert "chat not found" in str(await refused(exceptions.TelegramBadRequest, bot.send_message(NOBODY, "x")))
    for text, mode in ("", None), ("x" * 4097, None), ("<b>x", ParseMode.HTML), ("<x>y</x>", ParseMode.HTML):
        await refused(exceptions.TelegramBadRequest, bot.send_message(PERSON, text, parse_mode=mode))
    await refused(exceptions.TelegramBadRequest, bot.get_file("nothing"))
    right("bad requests")


async def main():
    session = AiohttpSession(api=TelegramAPIServer.from_base(URL))
    try:
        bot = Bot(TOKEN, session=session)
        await account(bot)
        question, press = await updates(bot)
        await messages(bot, question)
        await files(bot)
        await errors(bot, press)
        stranger = Bot(TOKEN[:-1] + ("b" if TOKEN[-1] == "a" else "a"), session=session)
        await refused(exceptions.TelegramUnauthorizedError, stranger.get_me())
        right("unauthorized")
    finally:
        await session.close()


asyncio.run(main())
