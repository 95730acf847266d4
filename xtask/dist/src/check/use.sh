# What a user does after the installation, and an event of the agent. The directory makes it look as if Claude Code were there.
hookhost --version
mkdir -p "$HOME/.claude"
hookhost on --agent claude-code
hook=$(sed -n "s/.*\"command\": *\"'*\([^\"' ]*hookhost-hook\).*/\1/p" "$HOME/.claude/settings.json" | head -n 1)
case $hook in
"" | *.js) echo "the settings name no native hook: $hook" >&2 && exit 1 ;;
esac
reply=$(printf '%s' "$CALL" | "$hook" claude-code PreToolUse)
case $reply in
*'"permissionDecision":"deny"'*) ;;
*) echo "not rejected: $reply" >&2 && exit 1 ;;
esac
