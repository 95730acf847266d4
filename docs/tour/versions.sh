#!/bin/sh
# A server of the Model Context Protocol over its standard streams: one message a line, one tool.
while read -r message; do
  id=$(printf '%s\n' "$message" | sed -n 's/.*"id":\([0-9][0-9]*\).*/\1/p')
  case $message in
    *'"method":"initialize"'*)
      result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"versions","version":"1"}}' ;;
    *'"method":"tools/list"'*)
      result='{"tools":[{"name":"next","description":"The number of the next release.","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*)
      result='{"content":[{"type":"text","text":"1.4.0"}]}' ;;
    *) result='{}' ;;
  esac
  # What has no id wants no answer.
  if [ -n "$id" ]; then
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
  fi
done
