"""Is a bot on a Discord server, with discord.py, and says line by line what it found to be right.

The first thing that is not ends it with a traceback. `tests/it/unrelated/discord_py.rs` is the people and Discord,
and reads the lines; what begins with `?` asks it for the next thing to happen.
"""

import asyncio
import datetime
import io
import sys

import discord
import yarl
from discord import app_commands

URL, GATEWAY, CDN, TOKEN, CHANNEL = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5])
CONTENT = bytes(range(256)) * 300
NAME = "Müller – 写真.bin"

discord.http.Route.BASE = URL
discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(GATEWAY)
fetch = discord.http.HTTPClient.get_from_cdn


async def fetch_here(self, url):
    """Follows a link of the CDN to the server that stands in for it."""
    assert str(url).startswith("https://cdn.discordapp.com/"), url
    return await fetch(self, str(url).replace("https://cdn.discordapp.com", CDN))


discord.http.HTTPClient.get_from_cdn = fetch_here


def right(what):
    """Says so."""
    print(what, flush=True)


async def refused(error, code, call):
    """Holds that a call fails in this way."""
    try:
        await call
    except error as found:
        assert type(found) is error and found.code == code, f"{found!r} of code {found.code} is no {error} of {code}"
        return
    raise AssertionError(f"no {error}")


class Buttons(discord.ui.View):
    """Two buttons of an approval."""

    @discord.ui.button(label="Approve", style=discord.ButtonStyle.success, custom_id="approve")
    async def approve(self, interaction, button):
        await interaction.response.edit_message(content="approved", view=None)
        right("press")

    @discord.ui.button(label="Deny", style=discord.ButtonStyle.danger, custom_id="deny")
    async def deny(self, interaction, button):
        await interaction.response.send_message("not you", ephemeral=True)
        assert (await interaction.original_response()).flags.ephemeral
        right("forged press")


class Bot(discord.Client):
    """The bot."""

    def __init__(self):
        intents = discord.Intents.none()
        intents.guilds = intents.guild_messages = intents.dm_messages = True
        super().__init__(intents=intents, allowed_mentions=discord.AllowedMentions.none())
        self.tree = app_commands.CommandTree(self)
        self.errors = []
        self.edited = asyncio.Event()
        self.deleted = asyncio.Event()

    async def setup_hook(self):
        assert (await self.application_info()).id == self.application_id
        self.tree.add_command(save)
        assert [command.name for command in await self.tree.sync()] == ["save"]
        fetched = await self.tree.fetch_commands()
        assert [(c.name, [o.name for o in c.options]) for c in fetched] == [("save", ["index", "file"])], fetched
        right("commands")
        self.view = Buttons(timeout=None)
        self.add_view(self.view)

    async def on_ready(self):
        assert [guild.name for guild in self.guilds] == ["Test guild"], self.guilds
        channel = self.get_channel(CHANNEL)
        assert isinstance(channel, discord.TextChannel), channel
        right("ready")
        right("?message")

    async def on_resumed(self):
        right("resumed")

    async def on_raw_message_edit(self, event):
        if event.data["author"]["id"] != str(self.user.id):
            assert event.data["content"] == "other words", event.data
            self.edited.set()

    async def on_raw_message_delete(self, event):
        self.deleted.set()

    async def on_message(self, message):
        if message.author.id == self.user.id:
            return
        if message.content == "hello":
            await answer(self, message)
        elif message.guild:
            await in_guild(self, message)
        elif message.content == "missed":
            right("replayed")
        elif message.content == "after":
            right("after")
            await self.close()

    async def on_error(self, event, *arguments):
        self.errors.append(sys.exc_info())
        await self.close()


@app_commands.command(description="Saves a file")
async def save(interaction, index: int, file: discord.Attachment):
    """A command with a file."""
    try:
        await interaction.response.defer()
        assert index == 3 and file.filename == "b.bin" and await file.read() == CONTENT
        message = await interaction.edit_original_response(content="saved?", view=interaction.client.view)
        assert [button.label for button in message.components[0].children] == ["Approve", "Deny"], message
        again = await interaction.original_response()
        assert again.id == message.id and again.content == "saved?"
        late = await interaction.followup.send("and more", wait=True)
        assert late.id != message.id
        right("command")
        right("?press")
    except BaseException:
        await interaction.client.on_error("save")


async def answer(bot, message):
    """Answers a private message with a file."""
    assert isinstance(message.channel, discord.DMChannel) and message.author.id == 7
    assert message.attachments[0].filename == "a.bin" and await message.attachments[0].read() == CONTENT
    right("download")
    async with message.channel.typing():
        pass
    right("typing")
    files = [discord.File(io.BytesIO(CONTENT), NAME), discord.File(io.BytesIO(b"x"), "x.txt", description="an x")]
    sent = await message.reply("**got** it", files=files, mention_author=False)
    assert sent.reference.message_id == message.id and sent.mentions == [], sent
    assert [len(await attachment.read()) for attachment in sent.attachments] == [len(CONTENT), 1], sent.attachments
    assert sent.attachments[1].description == "an x"
    right("reply")
    edited = await sent.edit(content="got it all", attachments=[sent.attachments[1]])
    assert edited.edited_at and [a.filename for a in edited.attachments] == ["x.txt"], edited
    history = [old.id async for old in message.channel.history(after=message)]
    assert history == [sent.id], history
    fresh = await message.channel.fetch_message(message.id)
    assert await fresh.attachments[0].read() == CONTENT
    right("history")
    await sent.delete()
    await refused(discord.NotFound, 10008, sent.edit(content="x"))
    right("delete")
    await refused(discord.NotFound, 10003, bot.fetch_channel(5))
    await refused(discord.HTTPException, 50035, message.channel.send("x" * 2001))
    await refused(discord.HTTPException, 50006, message.channel.send(""))
    await refused(discord.Forbidden, 50005, bot.http.edit_message(message.channel.id, message.id, params=edit("x")))
    right("refusals")
    # The bucket is small: the library waits as the headers say, and for the 429 that a fault makes.
    for number in range(5):
        await message.channel.send(str(number))
    right("limits")
    started = datetime.datetime.now()
    assert (await bot.create_dm(message.author)).id == message.channel.id
    assert datetime.datetime.now() - started < datetime.timedelta(seconds=30)
    right("?edit")
    await asyncio.wait_for(bot.edited.wait(), 60)
    await asyncio.wait_for(bot.deleted.wait(), 60)
    right("changes")
    right("?guild")


def edit(content):
    """The body of an edit."""
    return discord.http.handle_message_parameters(content=content)


async def in_guild(bot, message):
    """Messages of a guild: without the intent their content comes with a mention alone."""
    if bot.user in message.mentions:
        assert message.content == f"<@{bot.user.id}> in words" and message.guild.name == "Test guild"
        assert isinstance(message.author, discord.Member)
        right("mention")
        right("?thread")
    elif isinstance(message.channel, discord.Thread):
        assert message.channel.parent_id == CHANNEL
        await message.channel.send("in the thread")
        right("thread")
        right("?command")
    else:
        assert message.content == "" and message.attachments == [], message
        right("without the intent")


async def main():
    bot = Bot()
    async with bot:
        await bot.start(TOKEN)
    for error in bot.errors:
        raise error[1]
    stranger = discord.Client(intents=discord.Intents.none())
    try:
        await stranger.login("x" + TOKEN)
    except discord.LoginFailure:
        right("unauthorized")
    finally:
        await stranger.close()


asyncio.run(main())
