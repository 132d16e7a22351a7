import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { readdirSync, readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { systemClock } from '../../libs/redis-lock/src/core/time/clock.js';
import { RedisServer } from '../../libs/redis-lock/src/testing/server/redis-server.js';
import { eventually, useRealRedis } from '../support/set-up.js';
import { Pair } from './pair.js';

/** Scripts whose answer shows a rule of Lua or of Redis. */
const SCRIPTS: Readonly<Record<string, readonly string[]>> = {
  'texts are bytes': [
    'return #KEYS[1]',
    'return string.byte(KEYS[1])',
    'return string.sub(KEYS[1], 1, 3)',
    'return string.char(0, 200, 13)',
    "return #'\\228\\184\\173'",
    'return "\\a\\b\\f\\v\\x"',
    'return string.byte("") == nil and 1 or 0',
    'return select("#", string.byte(""))',
    'return string.sub(KEYS[1] .. "aé", -3)',
  ],
  'numbers of an answer lose their fraction': [
    'return 3.99',
    'return -3.99',
    'return 7 / 2',
    'return -7 % 3',
    'return 2 ^ 10',
    'return { 1.5, 2.5 }',
    'return -0.5',
    'return { -0.2, 0 * -1 }',
    'return { 1/0, -1/0, 0/0, 5 % 0 }',
    'return { 2 ^ 62, 2 ^ 63, -2 ^ 63, 1e300, -1e300 }',
    'return tostring(3.99)',
  ],
  'numbers as texts': [
    'return tostring(1e15)',
    'return tostring(123456789012345678)',
    'return tostring(0.1)',
    'return tostring(1e-7)',
    'return tostring(100) .. 1.5 .. 2',
    'return string.format("%.0f %d %s %%", 2.5, 3.7, 0.1)',
    'return string.format("%.0f %.0f %.0f", 0.5, 1.5, -0.4)',
    'return tostring(1/0) .. tostring(-1/0)',
    'return tostring(1732700000000.2)',
    'return string.format("%d %d %02x %02x", -0.5, -7.9, 5, 255.5)',
    'return { tonumber("12", 10), tonumber("C8", 16), tonumber(" 7 ", nil) }',
    'return { tonumber("0x10"), tonumber(" 7 "), tonumber("1e2"), tonumber("ff", 16) }',
    'return { tostring(tonumber("")), tostring(tonumber("1x")), tostring(tonumber("1 2")) }',
    'return redis.call("set", "n", 1.5) and redis.call("get", "n")',
    'return redis.call("set", "n", 1e15) and redis.call("get", "n")',
  ],
  'an answer ends at the first nil': [
    'return { 1, nil, 3 }',
    'return { 1, false, 3 }',
    'return {}',
    'return nil',
    'return true',
    'return false',
    'return { { 1, nil, 2 }, "x" }',
    'local t = { 1, 2, 3 } t[3] = nil return #t',
    'local t = {} t[1] = 1 t[2] = 2 t.x = 3 return { #t, t.x }',
  ],
  'operators and control': [
    'return { 1 and 2, false or 3, nil and 1 or 4 }',
    'return not nil and 1 or 0',
    'return "10" + 5',
    'return 2 + 3 * 4 - -1',
    'return "a" .. "b" .. 1 + 2',
    'return { "a" < "b" and 1 or 0, "Z" < "a" and 1 or 0, 2 >= 2 and 1 or 0 }',
    'local n = 0 for i = 10, 1, -3 do n = n * 10 + i end return n',
    'local n = 0 for i = 1, 0 do n = 1 end return n',
    'local n = 0 while true do n = n + 1 if n == 5 then break end end return n',
    'local a, b = 1 return b == nil and a',
    'local a, b = 1, 2 a, b = b, a return { a, b }',
    'local a a, a = 1, 2 return a',
    'local t = {} local function f() t[#t + 1] = "f" return "v" end t[#t + 1] = f() return t',
    'local x pcall(function() x.y.z = redis.call("set", "k", 1) end) return redis.call("get", "k")',
    'local x pcall(function() x.y = redis.call("set", "k", 1) end) return redis.call("get", "k")',
    'local x pcall(function() return x[redis.call("set", "k", 1)] end) return redis.call("get", "k")',
    '--[==[\nredis.call("set", "k", 1)\n--]==] return redis.call("get", "k")',
    'local r = redis.pcall("get", "k") or "x" return r.err == nil and r.ok == nil and 1 or 0',
    'local function f(...) return select("#", ...), ... end return { f(7, nil, 8) }',
    'local function f(n) if n == 0 then return 0 end return n + f(n - 1) end return f(50)',
    'local x = 1 do local x = 2 end return x',
    'local t = { f = function(a) return a * 2 end } return t.f(4)',
    'return (string.gsub("abc", "b", string.byte))',
    'return { unpack({ 1, 2, 3 }, 2) }',
    'local s = 0 for i, v in ipairs({ 5, 6, nil, 7 }) do s = s + i * v end return s',
    'local s = "" for w in string.gmatch("a,b,,c", "[^,]+") do s = s .. w .. ";" end return s',
  ],
  patterns: [
    'return { string.find("a.b", ".", 1, true) }',
    'return { string.match("k=v; x=y", "(%w+)=(%w+)", 4) }',
    'return { string.match("  x ", "^%s*(.-)%s*$") }',
    'return { string.match("[a-]", "[%a%-]+") }',
    'return { string.match("a]b", "[]]") }',
    'return { string.match("x^", "[%^x]+"), string.match("ab", "[^a]") }',
    'return { string.gsub("hello world", "o(.?)", function(c) return c == "r" and "_" end) }',
    'return { string.gsub("abc", "b*", function() return "-" end) }',
    'return { string.gsub("abcabc", "^a", function() return "-" end) }',
    'return { string.gsub("aab", "^a", function() return "-" end) }',
    'return { string.match("key:12:write", ":%-?%d+:write$") and 1 or 0 }',
    'return { string.find("", "") }',
  ],
  'errors of commands': [
    'redis.call("hset", "h", "f", "1") return redis.call("get", "h")',
    'redis.call("hset", "h", "f", "1") return redis.pcall("get", "h").err',
    'return redis.call("hset", "h", "f", "1", "g")',
    'return redis.call("incrby", "s", "x")',
    'redis.call("set", "s", "x") return redis.call("incrby", "s", 1)',
    'redis.call("set", "s", "007") return redis.call("incrby", "s", 1)',
    'redis.call("set", "s", "9223372036854775807") return redis.call("incrby", "s", 1)',
    'redis.call("set", "n", "9007199254740993") redis.call("incr", "n") return redis.call("get", "n")',
    'redis.call("set", "n", "9223372036854775806") redis.call("incr", "n") return redis.call("get", "n")',
    'return redis.call("pexpire", "s", "1.5")',
    'redis.call("set", "s", 1) return redis.call("lrange", "s", "x", 1)',
    'redis.call("set", "s", 1) return redis.call("zrange", "s", 0, "x")',
    'redis.call("set", "s", 1) return redis.call("zremrangebyrank", "s", "x", 1)',
    'redis.call("set", "s", 1) return redis.call("set", "s", 2, "nx", "px", "x")',
    'return redis.call("set", "s", "1", "px", "x")',
    'return redis.call("zadd", "z", "x", "m")',
    'return redis.call("zadd", "z", 1, "a", 2)',
    'return redis.call("zcount", "z", "x", 1)',
    'return redis.call("zcount", "z", " ", 1)',
    'return redis.call("zcount", "z", " (1", 1)',
    'return redis.call("rename", "nothing", "x")',
    'return redis.call("linsert", "l", "where", "a", "b")',
  ],
  'errors of Lua': [
    'return 1 + nil',
    'local x return x + 1',
    'local x = {} return x + 1',
    'local x = {} return x.y.z',
    'local x return x.y',
    'local x = "a" return x < 1',
    'return {} < {}',
    'local x return x()',
    'for x in nil do end',
    'for x in 5 do end',
    'local x = "a" x.y = 1',
    'local ok, e = pcall(string.find) return e',
    'return KEYS[2] .. "x"',
    'return ARGV[3] + 1',
    'return #ARGV[3]',
    'return ARGV[3]()',
    'local t = {} return t["x"].y',
    'local t = {} local k = "a" return t[k].y',
    'local t = {} return t.f()',
    'return "a" .. {}',
    'local x = 5 return #x',
    'return ("x" + 1)',
    'for i = "x", 2 do end',
    'return string.find(nil, "x")',
    'return string.find()',
    'return math.max()',
    'return math.floor("x")',
    'return ipairs(nil)',
    'local ok, e = pcall(function() return nil + 1 end) return e',
    'local t = {} t[nil] = 1',
    'return redis.error_reply("MY error")',
    'return { err = "TABLE error" }',
    'return { err = "TABLE\\r\\nerror" }',
    'return { ok = "FINE" }',
    'return { ok = "FINE\\nDAY" }',
    'local x = { err = "E x" } return { 1, x }',
  ],
  'empty collections are gone': [
    'redis.call("rpush", "l", 1) redis.call("lpop", "l") return redis.call("exists", "l")',
    'redis.call("zadd", "z", 1, "a") redis.call("zrem", "z", "a") return redis.call("exists", "z")',
    'redis.call("hset", "h", "a", 1) redis.call("hdel", "h", "a") return redis.call("exists", "h")',
    'redis.call("set", "k", "v", "px", 1000) redis.call("set", "k", "w") return redis.call("pttl", "k")',
    'redis.call("set", "k", "v", "px", 1000) redis.call("incrby", "n", 3) return redis.call("pttl", "k")',
    'return redis.call("pexpire", "nothing", 5)',
    'redis.call("set", "k", 1) return { redis.call("pexpire", "k", -1), redis.call("exists", "k") }',
    'redis.call("set", "k", 1, "pxat", 1) return redis.call("exists", "k")',
    'redis.call("set", "k", 1) return redis.call("set", "k", 2, "nx")',
  ],
  'all that a guard writes': [
    'redis.call("set", "k", 1, "px", 900) return redis.call("set", "k", 2, "XX", "keepttl")',
    'redis.call("set", "k", 1, "keepttl") return redis.call("set", "no", 1, "xx", "ex", 5)',
    'redis.call("set", "k", 1, "exat", 9000000000) return redis.call("set", "l", 1, "exat", 1)',
    'redis.call("set", "k", 1, "pxat", 9000000000000) return redis.call("set", "l", 1, "ex", 5)',
    'return { redis.call("sadd", "s", "b", "a", "b"), redis.call("sadd", "s", "c", "a"), redis.call("type", "s") }',
    'redis.call("sadd", "s", "a", "b") return { redis.call("srem", "s", "a", "c"), redis.call("srem", "no", "a") }',
    'redis.call("sadd", "s", "a") return { redis.call("srem", "s", "a"), redis.call("exists", "s") }',
    'redis.call("set", "k", 1) return redis.call("sadd", "k", "a")',
    'redis.call("sadd", "s", "a") return redis.call("get", "s")',
  ],
  'ranges and places': [
    'redis.call("rpush", "l", "a", "b", "a", "c") return redis.call("lrange", "l", -3, -2)',
    'redis.call("rpush", "l", "a", "b", "a") return { redis.call("lpos", "l", "a", "rank", 2), redis.call("lpos", "l", "a", "rank", -1) }',
    'redis.call("rpush", "l", "a", "b", "a") return { redis.call("lrem", "l", -1, "a"), redis.call("lrange", "l", 0, -1) }',
    'redis.call("rpush", "l", "a") return { redis.call("lindex", "l", 0), redis.call("lindex", "l", -1), redis.call("lindex", "l", 5) }',
    'redis.call("rpush", "l", "a", "c") return { redis.call("linsert", "l", "before", "c", "b"), redis.call("linsert", "l", "after", "x", "b") }',
    'redis.call("zadd", "z", 2, "b", 1, "a", 2, "a2") return redis.call("zrange", "z", 0, -1, "withscores")',
    'redis.call("zadd", "z", 1e15, "b", -5, "a") return redis.call("zrange", "z", -1, -1, "withscores")',
    'redis.call("zadd", "z", 1, "a", 2, "b") return redis.call("zcount", "z", "(1", "+inf")',
    'redis.call("zadd", "z", -1, "a", 1, "b") return { redis.call("zcount", "z", "", " 1"), redis.call("zcount", "z", "(", "( 1") }',
    'redis.call("zadd", "z", 1, "a", 2, "b", 3, "c") return { redis.call("zcount", "z", 1, 2), redis.call("zcount", "z", 2, "(3") }',
    'redis.call("zadd", "z", 1, "a", 2, "b", 3, "c") return { redis.call("zremrangebyscore", "z", "-inf", 2), redis.call("zrange", "z", 0, -1) }',
    'redis.call("zadd", "z", 1, "a", 2, "b", 3, "c") return { redis.call("zremrangebyrank", "z", 0, -2), redis.call("zrange", "z", 0, -1) }',
    'redis.call("zadd", "z", 5, "a") redis.call("zadd", "z", "lt", 7, "a") redis.call("zadd", "z", "xx", 7, "c") return redis.call("zrange", "z", 0, -1, "withscores")',
    'redis.call("zadd", "z", 5, "a") return { redis.call("zadd", "z", "xx", "incr", -2, "a"), redis.call("zadd", "z", "xx", "incr", 1, "b") }',
    'redis.call("zadd", "z", 5, "a", 4, "b") return { redis.call("zpopmin", "z"), redis.call("zpopmin", "none") }',
    'redis.call("hset", "h", "b", 1, "a", 2) return { redis.call("hkeys", "h"), redis.call("hgetall", "h"), redis.call("hmget", "h", "a", "x") }',
  ],
};

const SOURCES = new URL('../../libs/redis-lock/src/testing/', import.meta.url);
const WRONG_NUMBER = 'ERR Wrong number of args calling Redis command from script';

describe('the server in process', () => {
  const redis = useRealRedis();
  let pair: Pair;
  beforeAll(async () => {
    pair = await Pair.of(redis.admin, new Redis(redis.url));
  });
  afterAll(() => {
    pair.end();
  });

  it.each(Object.entries(SCRIPTS))('answers as Redis: %s', async (_, scripts) => {
    for (const lua of scripts) {
      const { theirs, ours } = await pair.certainly({ lua, sha1: '' }, ['库存'], ['x']);
      expect({ lua, ...ours }).toStrictEqual({ lua, ...theirs });
    }
  });

  it('answers as Redis while the memory is full', async () => {
    await pair.fill(true);
    for (const lua of [
      'return redis.call("set", "k", 1)',
      'return { redis.call("del", "k"), redis.call("set", "k", 1) }',
      'return { redis.pcall("rpush", "l", 1), redis.call("lpop", "l"), redis.call("incrby", "k", 1) }',
      'return { redis.call("exists", "k"), redis.pcall("zadd", "z", 1, "a") }',
    ]) {
      const { theirs, ours } = await pair.certainly({ lua, sha1: '' }, [], []);
      expect({ lua, ...ours }).toStrictEqual({ lua, ...theirs });
    }
    await pair.fill(false);
  });

  /** Each version has its own words for these. */
  it.each([
    ['return redis.call("set", "n", 1e17) and redis.call("get", "n")', '1e+17'],
    ['return redis.call("set", "n", 0.1) and redis.call("get", "n")', '0.10000000000000001'],
    ['return redis.call("set", "n", 1e17) and redis.call("get", "n")', '1e+17'],
    ['return redis.call("set", "n", -0) and redis.call("get", "n")', '-0'],
    ['redis.call("zadd", "z", "-0", "a") return redis.call("zscore", "z", "a")', '0'],
    [
      'return redis.call("pexpire", "s", "9223372036854775807")',
      "ERR invalid expire time in 'pexpire' command script: 5",
    ],
    [
      'return redis.call("set", "s", 1, "px", "9223372036854775807")',
      "ERR invalid expire time in 'set' command script: 5",
    ],
    [
      'redis.call("set", "s", 1) return redis.call("set", "s", 1, "nx", "px", 0)',
      "ERR invalid expire time in 'set' command script: 5",
    ],
    [
      'local ok, e = pcall(function() return redis.call("get") end) return type(e) .. ": " .. e',
      `string: ${WRONG_NUMBER}`,
    ],
    ['return redis.call("hset", "h")', `${WRONG_NUMBER} script: 5, on @user_script:1.`],
    [
      'return redis.pcall({}).err',
      'ERR Lua redis lib command arguments must be strings or integers',
    ],
    [
      'return redis.pcall().err',
      'ERR Please specify at least one argument for this redis lib call',
    ],
    ['return redis.error_reply("MY").err', 'ERR MY'],
    ['return redis.error_reply("-MY error").err', 'MY error'],
    ['return redis.error_reply("-MY").err', 'ERR MY'],
    ['return redis.error_reply("-").err', 'ERR '],
    ['KEYS = 1', 'ERR user_script:1: Attempt to modify a readonly table script: 5'],
    ['x = 1', 'ERR user_script:1: Attempt to modify a readonly table script: 5'],
    [
      'return redis.call("set", "s", "1", "px", 0)',
      "ERR invalid expire time in 'set' command script: 5",
    ],
    [
      '\nreturn nil + 1',
      'ERR user_script:2: attempt to perform arithmetic on a nil value script: 5, on @user_script:2.',
    ],
  ])('answers as Redis 7.0: %j', (lua, answer) => {
    const server = new RedisServer(systemClock);
    const answerOf = () => server.evaluate({ lua, sha1: '5' }, [], []);
    if (answer.includes('script: ')) expect(answerOf).toThrow(answer);
    else expect(answerOf()).toBe(answer);
  });

  it.each([
    ['local x = 1\nreturn cjson.encode(x)', 'sample:2: unknown global cjson'],
    ['return pairs({})', 'sample:1: unknown global pairs'],
    ['error("x")', 'sample:1: unknown global error'],
    ['return string.reverse("x")', 'sample:1: unknown function string.reverse'],
    ['\nreturn redis.call("object", "freq", "k")', 'sample:2: unknown command object'],
    ['repeat local x = 1 until true', 'sample:1: unknown statement repeat'],
    [
      'for i = 1, 2 do local f = function() return i end end',
      'sample:1: a function keeps i of a loop',
    ],
    ['local s = "x" return s:upper()', 'sample:1: cannot read :'],
    ['return 1 +', 'sample:1: expected a name, not the end'],
    ['local call = redis.call\nreturn call("get", "k")', 'sample:2: call as a value'],
    ['return pcall(redis.call, "get", "k")', 'sample:1: call as a value'],
    ['return 1; return 2', 'sample:1: a statement that is never reached'],
    ['\nreturn "\\300"', 'sample:2: cannot read "'],
    ['local i, a = 1, {}\ni, a[i] = i + 1, 9', 'sample:2: several fields cannot be set at once'],
    ['return @', 'sample:1: cannot read @'],
  ])('refuses %j before it runs', (lua, message) => {
    const server = new RedisServer(systemClock);
    expect(() => server.evaluate({ lua, sha1: '', name: 'sample' }, [], [])).toThrow(message);
  });

  it.each([
    'return redis.call("set", "k", "v", "px", 5, "pxat", 6)',
    'return redis.call("set", "k", "v", "px")',
    'redis.call("set", "k", 1) return redis.call("set", "k", "v", "nx", "get")',
    'return redis.call("zrange", "z", 0, -1, "rev")',
    'return redis.call("zadd", "z", "nx", "xx", 1, "a")',
    'return redis.call("zadd", "z", "nx", "lt", 1, "a")',
    'return redis.call("zadd", "z", "incr", 1, "a", 2, "b")',
    'return redis.call("zadd", "z", "0x10", "a")',
    'return redis.call("zadd", "z", "1e400", "a")',
    'redis.call("zadd", "z", "inf", "a") return redis.call("zadd", "z", "incr", "-inf", "a")',
    'return redis.call("lpos", "l", "a", "rank", 0)',
    'return redis.call("lpos", "l", "a", "rank")',
    'return redis.call("lpos", "l", "a", "rank", 1, "count")',
    'return redis.call("pexpire", "k", 5, "nx")',
    'local name = "getset" return redis.call(name, "k", "v")',
    'return string.format("%5s", "x")',
    'return string.format("%", 1)',
    'return string.format("%02x", -1)',
    'return string.format("%d", 1e20)',
    'return string.format("%s", "a\\0b")',
    'return tonumber("10", 2)',
    'return tonumber("0xff", 16)',
    'return tonumber("1\\0x")',
    'return tostring(1732700000000.25)',
    'return math.max(1, 0/0)',
    'return unpack({ 1, 2 }, 0)',
    'return pcall(nil)',
    'return string.char(300)',
    'return string.char(65, -1)',
    'return string.format("%s")',
    'return tonumber()',
    'return tostring(string.byte(""))',
    'return select(0, 1)',
    'return { select(-3, 1, 2) }',
    'return { select(-1, 1, 2) }',
    'return type()',
    'return redis.call("decrby", "n", "-9223372036854775808")',
    'return { double = 3.5 }',
    'return { map = { a = 1 } }',
    'return #{ 1, nil, 3, nil }',
    'local t = { 1, nil, 3 } t[3] = nil',
    'local s = "x" return s.len',
    'return string.find("x", "(x")',
    'return pcall(string.find, "x", "x)")',
    'return string.find("x", "%")',
    'return string.gmatch("x", "^x")',
    'return string.match("x", "%bxy")',
    'return string.find("abc", "b()")',
    'return string.gsub("abc", "%w", "%0")',
    'return string.byte("abc", 1, 2)',
    'return unpack({ 1, 2 }, 1, 1)',
    'return tostring({})',
    'local t = {} t[3] = 1 return #t',
  ])('never answers what it does not know: %s', (lua) => {
    const server = new RedisServer(systemClock);
    const evaluate = () => server.evaluate({ lua: `\n${lua}`, sha1: '', name: 'sample' }, [], []);
    expect(evaluate).toThrow(/^sample:2: The server in process knows no /);
  });

  it('keeps no server whose scripts are ready for others', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const servers = ['a', 'b', 'b'].map((key) => {
      const server = new RedisServer(systemClock);
      server.evaluate({ lua: `return redis.call('get', '${key}')`, sha1: '' }, [], []);
      return new WeakRef(server);
    });
    await eventually(() => {
      collect();
      return servers.every((server) => server.deref() === undefined);
    });
  });

  /** A browser under a strict policy refuses both, and has no module of Node. */
  it('makes no code of texts, and takes nothing of Node', () => {
    const names = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' });
    const sources = names.filter((name) => name.endsWith('.ts'));
    const found = sources.filter((name) => {
      const text = readFileSync(new URL(name, SOURCES), 'utf8');
      const isOfServer = name.startsWith('server');
      return /\beval\b|\bFunction\(/.test(text) || (isOfServer && text.includes("'node:"));
    });
    expect(sources.length).toBeGreaterThan(20);
    expect(found).toEqual([]);
  });
});
