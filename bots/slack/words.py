"""What the bot itself says to people, apart from what the desk has it say."""

from __future__ import annotations

from typing import Final

HOME_TITLE: Final = "Your conversations"
HOME_EMPTY: Final = "There is nothing to go back to yet. Write to me under Messages, or mention me in a channel."
HOME_RESUME: Final = "Resume"
HOME_CLOSED: Final = "There is nothing for you here."
HOME_HINT: Final = "What you resume goes on in our direct messages."
WHICH: Final = "For which of our conversations here is that?"
ARGUMENT: Final = "Which one?"
ARGUMENT_HINT: Final = "You can also leave this empty."
FORM_TITLE: Final = "One more thing"
FORM_SUBMIT: Final = "Go"
TOO_LONG: Final = (
    "That is too long to ask which conversation you mean. Mention me in that conversation, with the command behind it."
)
NONE_HERE: Final = "We have no conversation in this channel. Mention me to begin one, or write to me directly."
NOT_ALL: Final = (
    "I can't look through all of our conversations here at the moment. You can also mention me in the one that you "
    "mean, with the command behind it."
)
THE_CHAT: Final = "This chat, outside of threads"
A_THREAD: Final = "The thread of {at:%Y-%m-%d %H:%M} UTC"
FORGOTTEN: Final = "I no longer know which command that was. Type it again."
NOT_NOW: Final = "I can't look that up at the moment. Try again soon."
NOT_HERE: Final = "I may not answer here."
NOTHING_IN_IT: Final = "I find nothing in that message that I could read."
NO_BEGINNING: Final = "(Slack does not tell at the moment how this thread began.)"
"""For the agent, in place of what was said before somebody mentioned us."""
PROMPTS: Final = (("What can I ask for?", "/help"), ("Show my conversations", "/sessions"))
"""Title and message of what a new thread of the assistant suggests."""
PROMPTS_TITLE: Final = "To begin with"
ASK_SHORTCUT: Final = "Ask about this"
ASK_DESCRIPTION: Final = "Hands this message on to the assistant"
COMMAND_DESCRIPTION: Final = "Talk with the assistant about your conversation"
