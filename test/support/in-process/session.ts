import type { CommandReply } from '../../../libs/redis-lock/src/testing/server/commands/command.js';
import { OK, Status } from '../../../libs/redis-lock/src/testing/server/commands/command.js';
import type { Subscriber } from '../../../libs/redis-lock/src/testing/server/redis-server.js';
import { CommandError } from '../../../libs/redis-lock/src/testing/server/store.js';
import { unknown, UnknownError } from '../../../libs/redis-lock/src/testing/server/unknown.js';
import { patternOf } from './commands.js';
import { FrameSplitter } from '../resp.js';
import type { CountingServer } from './counting-server.js';
import type { InProcessSocket, Receiver } from './socket.js';

type Run = (args: readonly string[]) => CommandReply;

let lastId = 0;

/** The server of a session, and all of its sessions. */
export interface Host {
  readonly server: CountingServer;
  readonly sessions: Set<Session>;
  /** Does the work, unless the server stands still. */
  run(work: () => void): void;
  /** The session chooses a database. */
  select(database: string): CommandReply;
  pause(): void;
  resume(): void;
}

/** One connection of a client, as Redis has it. */
export class Session implements Receiver, Subscriber {
  readonly #id = (lastId += 1);
  readonly #frames = new FrameSplitter();
  readonly #ends = new Map<string, () => void>();
  /** The commands that have no answer yet. */
  readonly #due: Buffer[] = [];
  #waits = false;
  #name = '';
  /** So begins what Redis sends without a question. */
  #push = '*';
  /** The commands of a transaction that has not been executed. */
  #queued: string[][] | undefined;

  constructor(
    private readonly redis: Host,
    private readonly socket: InProcessSocket,
  ) {}

  receive(bytes: Buffer): void {
    this.redis.run(() => {
      this.#due.push(...this.#frames.push(bytes));
      this.#serve();
    });
  }

  #serve(): void {
    let answers = '';
    for (let frame; !this.#waits && (frame = this.#due.shift());) {
      answers += this.#answer(wordsOf(frame));
    }
    this.#send(answers);
  }

  /** Commands behind it wait, too. */
  #wait(args: readonly string[]): string {
    let answer = '';
    let isLate = false;
    this.#waits = true;
    const { server } = this.redis;
    server.count('wait', args);
    const [replicas, ms] = args.map(Number);
    server.whenInStep(replicas ?? 0, ms ?? 0, (have) => {
      this.#waits = false;
      answer = encoded(have);
      if (!isLate) return;
      this.#send(answer);
      this.#serve();
    });
    isLate = true;
    return answer;
  }

  ended(): void {
    this.redis.run(() => {
      for (const end of this.#ends.values()) end();
      this.redis.sessions.delete(this);
    });
  }

  cut(): void {
    this.socket.reset();
  }

  message(channel: string, message: string, isSharded: boolean): void {
    this.#send(encoded([isSharded ? 'smessage' : 'message', channel, message], this.#push));
  }

  #send(bytes: string): void {
    if (bytes !== '') this.socket.send(Buffer.from(bytes, 'latin1'));
  }

  #answer([word = '', ...args]: readonly string[]): string {
    const name = word.toLowerCase();
    if (this.#queued !== undefined && !['exec', 'discard'].includes(name)) {
      this.#queued.push([name, ...args]);
      return '+QUEUED\r\n';
    }
    if (/^[ps]?(un)?subscribe$/.test(name)) return this.#subscribe(name, args);
    if (name === 'wait') return this.#wait(args);
    return encoded(this.#run(name, args));
  }

  #run(name: string, args: readonly string[]): CommandReply {
    const { server } = this.redis;
    const own =
      name === 'pubsub' && args[0]?.toLowerCase() === 'channels'
        ? () => server.channels
        : this.#own[name];
    try {
      if (own === undefined) return server.command(name, args);
      server.count(name, args);
      return own(args);
    } catch (error) {
      if (error instanceof CommandError) return error;
      if (!(error instanceof UnknownError)) throw error;
      server.unknown.add(error.message);
      return new CommandError(`ERR ${error.message}`);
    }
  }

  #subscribe(name: string, channels: readonly string[]): string {
    const { server } = this.redis;
    server.count(name, channels);
    const [, kind = ''] = /^([ps]?)(?:un)?subscribe$/.exec(name) ?? [];
    const isEnd = name.endsWith('unsubscribe');
    const all = isEnd && channels.length === 0 ? this.#listening(kind) : channels;
    const answers = all.map((channel) => {
      const end = this.#ends.get(kind + channel);
      if (!isEnd) this.#ends.set(kind + channel, end ?? this.#listen(kind, channel));
      else if (this.#ends.delete(kind + channel)) end?.();
      return encoded([name, channel, this.#ends.size], this.#push);
    });
    return answers.length > 0 ? answers.join('') : encoded([name, null, 0], this.#push);
  }

  #listening(kind: string): string[] {
    const keys = [...this.#ends.keys()].filter((key) => key.startsWith(kind));
    return keys.map((key) => key.slice(kind.length));
  }

  #listen(kind: string, channel: string): () => void {
    const { server } = this.redis;
    if (kind !== 'p') return server.subscribe(channel, this, kind === 's');
    const matches = patternOf(channel);
    const send = (to: string, message: string) => {
      if (!matches.test(to)) return false;
      this.#send(encoded(['pmessage', channel, to, message], this.#push));
      return true;
    };
    server.everywhere.add(send);
    return () => server.everywhere.delete(send);
  }

  readonly #own: Readonly<Record<string, Run>> = {
    acl: ([subcommand = '', user = '', ...rules]) => {
      if (subcommand.toLowerCase() !== 'setuser' || user !== 'default')
        return unknown(`ACL ${subcommand} ${user}`);
      for (const rule of rules) this.redis.server.allow(rule);
      return OK;
    },
    select: ([database = '']) => this.redis.select(database),
    client: (args) => this.#client(args),
    config: ([subcommand = '', name, value]) => {
      const { server } = this.redis;
      if (subcommand.toLowerCase() === 'resetstat') server.calls.clear();
      else if (name === 'maxmemory') server.isFull = value !== '0';
      else return unknown(`CONFIG ${subcommand} ${String(name)}`);
      return OK;
    },
    hello: ([protocol]) => {
      this.#push = protocol === '3' ? '>' : '*';
      return ['server', 'redis', 'version', '7.4.0', 'proto', Number(protocol)];
    },
    // Without users, whoever logs in is right.
    auth: () => OK,
    info: ([section = '']) => this.#info(section.toLowerCase()),
    quit: () => {
      // Behind the answer.
      queueMicrotask(() => {
        this.socket.send(null);
      });
      return OK;
    },
    eval: ([lua = '', ...rest]) => this.#evaluate(this.redis.server.load(lua), lua, rest),
    evalsha: ([sha1 = '', ...rest]) => {
      const lua = this.redis.server.scripts.get(sha1);
      return lua === undefined
        ? new CommandError('NOSCRIPT No matching script. Please use EVAL.')
        : this.#evaluate(sha1, lua, rest);
    },
    script: ([subcommand = '', ...texts]) => this.#script(subcommand.toLowerCase(), texts),
    multi: () => {
      this.#queued = [];
      return OK;
    },
    discard: () => {
      this.#queued = undefined;
      return OK;
    },
    exec: () => {
      const queued = this.#queued ?? [];
      this.#queued = undefined;
      return queued.map(([name = '', ...args]) => this.#run(name, args));
    },
  };

  #evaluate(sha1: string, lua: string, [count, ...rest]: readonly string[]): CommandReply {
    const keys = rest.slice(0, Number(count));
    return this.redis.server.evaluate({ lua, sha1 }, keys, rest.slice(Number(count)));
  }

  #script(subcommand: string, texts: readonly string[]): CommandReply {
    const { server } = this.redis;
    if (subcommand === 'load') return texts.map((lua) => server.load(lua))[0] ?? null;
    if (subcommand === 'exists') return texts.map((sha1) => Number(server.scripts.has(sha1)));
    if (subcommand !== 'flush') return unknown(`SCRIPT ${subcommand}`);
    server.scripts.clear();
    return OK;
  }

  #client([subcommand = '', text = '']: readonly string[]): CommandReply {
    switch (subcommand.toLowerCase()) {
      case 'setname':
        this.#name = text;
        return OK;
      case 'setinfo':
        return OK;
      case 'pause':
        this.redis.pause();
        setTimeout(() => {
          this.redis.resume();
        }, Number(text));
        return OK;
      case 'id':
        return this.#id;
      case 'list':
        return [...this.redis.sessions].map((session) => session.line).join('\n');
      default:
        return unknown(`CLIENT ${subcommand}`);
    }
  }

  get line(): string {
    return `id=${String(this.#id)} addr=127.0.0.1:${String(this.#id)} name=${this.#name} sub=${String(this.#ends.size)}`;
  }

  #info(section: string): CommandReply {
    const { server } = this.redis;
    if (section === '') return `redis_version:7.4.0\r\n${server.info('server')}loading:0\r\n`;
    if (section === 'persistence')
      return `rdb_changes_since_last_save:${String(server.changes)}\r\n`;
    if (section !== 'commandstats') return server.info(section);
    return [...server.calls]
      .map(([name, calls]) => `cmdstat_${name}:calls=${String(calls)}`)
      .join('\r\n');
  }
}

function wordsOf(frame: Buffer): string[] {
  const text = frame.toString('latin1');
  const words: string[] = [];
  for (let at = text.indexOf('\r\n') + 2; at < text.length;) {
    const line = text.indexOf('\r\n', at);
    const start = line + 2;
    const end = start + Number(text.slice(at + 1, line));
    words.push(text.slice(start, end));
    at = end + 2;
  }
  return words;
}

function encoded(answer: CommandReply, list = '*'): string {
  if (answer === null) return '$-1\r\n';
  if (typeof answer === 'number') return `:${String(answer)}\r\n`;
  if (typeof answer === 'string') return `$${String(answer.length)}\r\n${answer}\r\n`;
  if (answer instanceof Status) return `+${answer.text}\r\n`;
  if (answer instanceof CommandError) return `-${answer.message}\r\n`;
  return `${list}${String(answer.length)}\r\n${answer.map((item) => encoded(item)).join('')}`;
}
