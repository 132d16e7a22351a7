export const HELP = `Usage: nestjs-redis-lock doctor [options]
       nestjs-redis-lock inspect <name> [options]

  doctor            looks at everything that locks depend on, and says how to set it right
  inspect <name>    shows who holds a lock, for how long, and who waits; changes nothing

Options:
  --url <url>         redis://, rediss:// or the path of a socket; default: REDIS_URL, else
                      redis://127.0.0.1:6379. More than one: the nodes of a red lock, of a
                      Cluster, or sentinels
  --cluster           the urls are nodes of a Redis Cluster
  --sentinel <name>   the urls are sentinels that know the master by this name
  --ca <file>         the certificate authority of rediss://
  --key-prefix <text> keyPrefix of RedisLockModule
  --json              for programs; docs/command-line.md has the shape
  --version, --help

REDIS_USERNAME and REDIS_PASSWORD are used where the url has none.

Exit code: 0 nothing breaks locks (there may be warnings), 1 something does, 2 not understood,
69 Redis cannot be reached.
`;
