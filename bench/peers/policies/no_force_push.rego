package guard

deny if {
	input.tool_name == "Bash"
	contains(input.tool_input.command, "push --force")
}
