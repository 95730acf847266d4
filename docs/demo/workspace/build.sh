echo "build: started" > build.log
sleep 60 # a cache server that never answers
echo "build: finished" >> build.log
