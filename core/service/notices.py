"""The message catalogue: every sentence that Frontdesk itself says to people, by key and language.

A key that a language lacks is said in English.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta

ENGLISH = {
    # sessions
    "reset_idle": "New conversation: the last one rested for {age}. /resume brings it back.",
    "reset_daily": "New conversation: a new day began. /resume brings the last one back.",
    "reset_damaged": "New conversation: I can't read the last one any more; whoever runs me has to look at it.",
    "reset_command": "New conversation. /resume brings the last one back.",
    "reset_first": "This is already a new conversation.",
    "closed_waiting": "{count} waiting message(|s) (was|were) dropped.",
    "resumed": "Back in “{title}” ({messages} message(|s)).",
    "resumed_away": "“{title}” was resumed in another chat; this is a new conversation.",
    "resume_none": "There is no earlier conversation to resume. /sessions lists yours.",
    "resume_not_found": "No conversation of yours fits “{name}”. /sessions lists them.",
    "resume_many": "Several fit “{name}”; use the number from /sessions.",
    "resume_here": "That is the conversation you are in.",
    "resume_in_use": "“{title}” is in use in another chat ({where}).",
    "sessions_none": "You have no conversations yet.",
    "sessions_head": "Your conversations, latest first (/resume NUMBER):",
    "sessions_line": "{number}. {title} ({messages} message(|s), {age} ago){mark}",
    "sessions_current": " ← here",
    "ended_here": "Whoever runs me ended this conversation. /resume brings it back.",
    "ended_elsewhere": "New conversation: whoever runs me ended the last one. /resume brings it back.",
    "deleted_here": "Whoever runs me deleted this conversation.",
    "deleted_elsewhere": "New conversation: whoever runs me deleted the last one.",
    "restored": "The store was restored from a backup that was made here: the answer was not finished in it.",
    "untitled": "untitled",
    "title_set": "Title: “{title}”.",
    "title_is": "Title: “{title}”. /title TEXT changes it.",
    "no_session": "There is no conversation yet; send a message to begin one.",
    "conversations_many": (
        "You've started {count} conversations within an hour, so I can't start another one yet. Please go on in one of "
        "them, or try again later."
    ),
    # turns
    "stopped": "Stopped.",
    "stopped_nothing": "Nothing was running.",
    "not_yours": "Only the person who asked, those who run this group, or an owner may do that.",
    "owner_only": "Only an owner can do that.",
    "asker_only": "Only the person who asked, or an owner, can do that.",
    "undone": "Took back {count} message(|s) and what was answered.",
    "undo_none": "There is nothing to take back.",
    "undo_few": "There are not so many messages to take back here; try a smaller number.",
    "undo_usage": "Use /undo or /undo NUMBER.",
    "retry_none": "There is nothing to try again.",
    "cleared": "The agent starts from an empty page; the transcript keeps everything.",
    "queue_usage": "Use /queue TEXT.",
    "steer_usage": "Use /steer TEXT.",
    "title_usage": "Use /title TEXT; at most {limit} characters.",
    "again_none": "There is nothing to send again.",
    "mailbox_full": "Too many messages are waiting here; this one was not taken. Try again when I have caught up.",
    "turn_cut": "That was too long for me, so I read the first {limit} characters only.",
    "queued_place": "Many people are asking at the moment; you are number {place} in line.",
    "queued_own": "I'm already working on {count} message(|s) of yours. This one comes as soon as one is done.",
    "agent_failed": "Something went wrong while answering. /retry tries again. (reference {reference})",
    "agent_timeout": "The answer took too long and was stopped. /retry tries again. (reference {reference})",
    "agent_empty": "The agent had nothing to say. /retry tries again.",
    "model_busy": "The model has too many requests just now. Try /retry in a minute. (reference {reference})",
    "model_overloaded": "The model's provider is overloaded. Try /retry in a few minutes. (reference {reference})",
    "model_unreachable": "I could not reach the model, or lost it. /retry tries again. (reference {reference})",
    "model_broke_off": "The model broke off in the middle of its answer. /retry tries again. (reference {reference})",
    "model_silent": "The model did not answer in time. /retry tries again. (reference {reference})",
    "model_key_refused": (
        "The model's provider refuses my key; whoever runs me has to look at it. (reference {reference})"
    ),
    "model_quota": (
        "My account with the model's provider is used up; whoever runs me has to look at it. (reference {reference})"
    ),
    "model_missing": "The provider has no such model; /model chooses another. (reference {reference})",
    "model_rejected": (
        "The model's provider refused this request. /retry tries again; if it goes on like that, /undo or /reset. "
        "(reference {reference})"
    ),
    "model_useless": "The model gave no usable answer. /retry tries again. (reference {reference})",
    "model_unfit": "My model is not set up as it has to be; whoever runs me has to look. (reference {reference})",
    "model_context_full": (
        "This conversation is too long for the model. /compact sums it up, /reset begins anew. (reference {reference})"
    ),
    "model_filtered": "The provider's content filter stopped this. Try other words. (reference {reference})",
    "answer_stopped": "(stopped)",
    "answer_cut": "(The answer ends here because it reached the length that it may have. Ask me to go on.)",
    "answer_filtered": "(The provider's content filter ended this answer.)",
    "turn_limit": "That needed more steps than one answer may take, so I stopped. (reference {reference})",
    "day_limit": "You have used up what you may use in one day; it goes on tomorrow. (reference {reference})",
    "day_limit_ahead": (
        "This would take more than what is left of your daily limit. A new conversation (/reset) takes less, and "
        "tomorrow it goes on. (reference {reference})"
    ),
    "interrupted": "I was restarted while answering and can't tell what was done already. /retry tries again.",
    "poison": "This message stopped me three times in a row, so I leave it. (reference {reference})",
    "internal": "I could not handle this message. (reference {reference})",
    "file_nameless": "that file",
    "file_too_large": "{name} is too large for me ({limit} MiB at most), so I go without it.",
    "file_lost": "I could not get {name}, so I go without it. Please send it again if it matters.",
    "file_quota": "You've reached my limit of {limit} MiB of files a day, so I skipped {name}. Try again tomorrow.",
    "file_no_room": "I'm almost out of disk space, so I skipped {name}. Please send it again later.",
    "picture_too_large": "{name} is too large for me to look at ({limit} MiB at most), so I go without it.",
    "voice_unheard": "I can't listen to voice messages here; please write instead.",
    "voice_failed": "I could not make out your voice message; please try again, or write.",
    "voice_timeout": "Listening to your voice message took too long; please try again, or write.",
    "voice_empty": "I heard nothing in your voice message; please try again, or write.",
    "stale": "I was away: {count} message(|s) here (was|were) too old to act on when I came back. Please ask again.",
    "thread_gone": "The thread that this belongs to is gone, so it stands here.",
    "unknown_delivery": "My last answer may not have arrived: /again sends it once more.",
    "file_unsent": "This could not be sent: {names}.",
    "alone_unsaid": "What is for you alone I can't bring to you: write to me in private first, then ask again.",
    "lost_answer": "An answer of mine did not reach you: /again sends it.",
    "disk_full": "I can't store messages at the moment (the disk is full), so I can't answer. Please try later.",
    # long conversations
    "compact_done": "Summed up: the agent goes on from a summary and the last messages; the transcript keeps all.",
    "compact_nothing": "There is nothing to sum up yet.",
    "compact_failed": "That could not be summed up, so nothing changed. Try again later, or begin anew with /reset.",
    "compact_no_model": "This agent has no model that could sum up.",
    # consent
    "consent_ask": "I would like to do this ({count}), and need your word first:",
    "consent_call": "**{tool}** (id {id})",
    "consent_cut": "(the first part of {chars} characters)",
    "consent_value_cut": "… ({chars} characters)",
    "consent_how": (
        "/approve allows it, /deny does not; with several, add the id or “all”. Good for {minutes} minutes; another "
        "message drops it."
    ),
    "consent_in_group": " in a group",
    "consent_for": "{name} ({identity}) asked for this{where}. It needs an owner's OK:",
    "consent_how_elsewhere": "/approve ID allows it, /deny ID does not. Good for {minutes} minutes.",
    "consent_owner_asked": "Only an owner can allow this ({tools}), so I asked in private. /deny cancels it.",
    "consent_no_owner": (
        "Only an owner can allow this ({tools}), and none has a direct chat with me to ask in. An owner can send me "
        "/approve {ids}; /deny cancels it."
    ),
    "consent_none": "Nothing waits for your word here.",
    "consent_expired": "That question has expired; ask again if you want it done.",
    "consent_which": "{count} calls wait: /approve ID or /deny ID, or “all”: {ids}",
    "consent_settled": "That call is {state} already.",
    "consent_is_approved": "allowed",
    "consent_is_denied": "denied",
    "consent_is_expired": "expired",
    "consent_is_closed": "dropped",
    "consent_was_approved": "This was allowed.",
    "consent_was_denied": "This was not allowed.",
    "consent_was_expired": "Nobody answered in time, so this was not done.",
    "consent_was_closed": "This was dropped, and not done.",
    "consent_unknown": "I know no call {id} here.",
    "consent_approved": "Allowed.",
    "consent_denied": "Denied.",
    "consent_left": "{said} Waiting for {count} more: {ids}",
    # who answers
    "model_is": "Model: {model}. /model NAME chooses for this conversation, /model default the usual one ({usual}).",
    "model_shown": "Model: {model}.",
    "model_not_yours": "Only people who were let in can change the model. Model: {model}.",
    "model_none": "The agent {agent} has no model to choose.",
    "model_unknown": "I have no model “{name}” to choose, or more than one of that name. There are:",
    "model_chosen": "From now on {model} answers here.",
    "model_default": "The usual model answers here: {model}.",
    "agent_is": "Agent: {agent}. /agent NAME chooses for this conversation.",
    "agent_shown": "Agent: {agent}.",
    "agent_unknown": "I have no agent “{name}”. There are:",
    "agent_chosen": "From now on the agent {agent} answers here.",
    "agent_default": "The usual agent answers here: {agent}.",
    "agent_with_model": "{agent}. Model: {model}",
    "choice": "- `{name}`",
    "choice_of": "- `{name}`: {of}",
    # commands
    "command_unknown": "I know no command /{name}. /help lists them.",
    "help_head": "Send a message to talk to the agent. Commands:",
    "help_line": "/{name}{hint}: {summary}",
    "help_help": "this list",
    "help_reset": "begin a new conversation (/new too)",
    "help_resume": "go back to an earlier conversation",
    "help_sessions": "your conversations",
    "help_title": "name this conversation",
    "help_status": "what is going on here",
    "help_stop": "stop the answer that is being made, and drop what waits",
    "help_retry": "answer the last message anew",
    "help_undo": "take back the last messages",
    "help_clear": "let the agent forget what was said so far",
    "help_model": "which model answers here, or choose one",
    "help_agent": "which agent answers here, or choose one",
    "help_usage": "what this conversation and you today have used",
    "help_export": "the transcript as text",
    "help_whoami": "how I know you",
    "help_again": "send the last answer once more",
    "help_queue": "ask after the running answer",
    "help_steer": "tell the running answer something",
    "help_compact": "let the agent go on from a summary of what was said",
    "help_approve": "allow a call that waits for your word",
    "help_deny": "do not allow it",
    "help_forget": "let me forget you and delete your conversations; asks first",
    "help_version": "which version this is",
    "whoami": "{name}: {identity}, role {role}.",
    "version": "Frontdesk {version}.",
    "status": (
        "Conversation “{title}”: {messages} message(|s), since {since}.\nAgent: {agent}. Running: {running}. "
        "Waiting: {waiting}."
    ),
    "status_none": "No conversation yet. Agent: {agent}.",
    "usage": "This conversation: {messages} message(|s), {entries} entries. {used}",
    "usage_last": "The last answer: {used}",
    "usage_today": "You, today: {used}",
    "usage_nothing": "The agent counts nothing.",
    "usage_requests": "{count} request(|s)",
    "usage_in": "{count} in",
    "usage_in_cached": "{count} in ({cached} cached)",
    "usage_out": "{count} out",
    "usage_cost": "${usd}",
    "usage_other": "{name} {count}",
    "yes": "yes",
    "no": "no",
    "export_not_yours": "You can download a conversation here after you took part in it.",
    "export_head": "# {title}",
    "export_user": "**{name}** ({at}):",
    "export_assistant": "**Agent** ({at}):",
    "export_tool": "**Tool** ({at}):",
    "export_notice": "*{text}*",
    # people
    "forget_ask": (
        "I would delete {sessions} conversation(|s) of yours with {messages} message(|s), what they got for answers, "
        "and who you are to me. It can't be taken back."
    ),
    "forget_shared": (
        "{sessions} conversation(|s) that you share with others (stays|stay) as said; that you took part is forgotten."
    ),
    "forget_accounts": "That goes for all {count} accounts that I know you by.",
    "forget_owner": "You own this desk; to me you would be a stranger unless the configuration names you.",
    "forget_how": "/forget yes does it, within {minutes} minutes.",
    "forgotten": "Forgotten: your conversations are being deleted, and I don't know you any more.",
    "pairing": (
        "I don't know you yet. Your code is {code}, good for an hour. The owner lets you in with:\n"
        "frontdesk people approve {code}"
    ),
    "stranger_waits": "{name} ({identity}) would like to talk to me. To let them in: frontdesk people approve {code}",
    "strangers_wait": (
        "{count} people are waiting to be let in. I'll ask you about some of them only; frontdesk people list shows "
        "them all."
    ),
    "let_in": "Let in",
    "tool_runs": "using {tools} …",
    "button_resume": "Resume",
    "button_stop": "Stop",
    "button_approve": "Allow",
    "button_deny": "Don't allow",
    "pressed": "Done.",
    "press_not_yours": "This button is for somebody else.",
    "press_expired": "That has expired.",
    "paired": "Welcome. You can talk to me now; /help lists the commands.",
}

_FORMS = re.compile(r"\{(\w+)\}|\((\w*)\|(\w*)\)")
CATALOGUES = {"en": ENGLISH}


def _numbered(text: str, facts: Mapping[str, str | int]) -> str:
    """The words for one or for several."""
    counted = ""

    def choose(found: re.Match[str]) -> str:
        nonlocal counted
        if found[1]:
            counted = found[1]
            return found[0]
        return found[2] if str(facts.get(counted)) == "1" else found[3]

    return _FORMS.sub(choose, text)


class Notices:
    """Says things in one language."""

    def __init__(self, language: str = "en") -> None:
        self._texts = {**ENGLISH, **CATALOGUES.get(language, {})}

    def say(self, key: str, **facts: str | int) -> str:
        """The sentence with its facts filled in; "{count} message(|s) (was|were)" is one message or several, by the
        fact before. Raises KeyError for a key that no catalogue has."""
        text = self._texts[key]
        return (_numbered(text, facts) if "|" in text else text).format(**facts)

    def age(self, span: timedelta) -> str:
        """A length of time in its largest unit."""
        minutes = max(0, int(span.total_seconds() // 60))
        if minutes < 60:
            return f"{minutes} min"
        if minutes < 48 * 60:
            return f"{minutes // 60} h"
        return f"{minutes // 1440} d"
