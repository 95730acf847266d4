servers = 5
