;; 64 MiB, where the limit is 16, before anything of it runs.
(memory $more 1024)
