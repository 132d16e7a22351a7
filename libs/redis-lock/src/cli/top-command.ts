import { setTimeout as sleep } from 'node:timers/promises';

import { isCluster } from '../ioredis/redis-client.js';
import { askText, field, within } from './answers.js';
import type { LockInspection } from '../primitives/monitor/inspection.js';
import { LockFinder } from './find-locks.js';
import { EXIT, MOST_MS, UsageError, type Run, type Terminal } from './io.js';
import { frameOf, type Shown } from './frame.js';
import { jsonOf } from './report.js';
import { nodesOf, type Server } from './server.js';
import { lookAt, withServers, type Watched } from './watch.js';

export interface TopOptions {
  /** Only these names; without any, every held lock. */
  readonly names: readonly string[];
  /** In seconds. */
  readonly interval: string | undefined;
  readonly isOnce: boolean;
}

/** How many names are inspected at a time. */
const AT_ONCE = 100;
/** How long a frame scans the keys of a node. In a larger Redis the next frame continues. */
const SEARCH_MS = 1_000;
const [SHORTEST_S, LONGEST_S] = [0.2, 3_600];

/** Opens a screen of its own without a cursor, clears it, and leaves it. */
const [ENTER, CLEAR, LEAVE] = [
  '\u001b[?1049h\u001b[?25l',
  '\u001b[H\u001b[J',
  '\u001b[?25h\u001b[?1049l',
];
const CTRL_C = '\u0003';

/**
 * Shows the held locks, again and again until `q` or Ctrl-C; once where there is no terminal.
 * Resolves with the exit code.
 * @throws {UsageError} the interval is not a number in its range
 * @throws {Error} a server is a node of a Cluster
 */
export async function runTop(
  servers: readonly Server[],
  { names, interval = '1', isOnce }: TopOptions,
  io: Run,
): Promise<number> {
  const everyMs = Number(interval) * 1_000;
  if (!(everyMs >= SHORTEST_S * 1_000 && everyMs <= LONGEST_S * 1_000)) {
    throw new UsageError(
      `--interval is a number of seconds, from ${String(SHORTEST_S)} to ${String(LONGEST_S)}`,
    );
  }
  return withServers(servers, io, async (watched) => {
    await Promise.all(servers.map(refuseLoneNode));
    const view = new View(watched, names, io);
    const { terminal } = io;
    if (!isOnce && !io.isJson && terminal !== undefined) {
      await refresh(view, terminal, everyMs, io);
      return EXIT.fine;
    }
    const shown = await view.all();
    const { looks: locks, problems } = shown;
    io.out(io.isJson ? jsonOf({ version: 1, locks, problems }) : frameOf(shown));
    return problems.length > 0 ? EXIT.broken : EXIT.fine;
  });
}

/**
 * @throws {Error} a node of a Cluster is used as a single server: it has only a part of the locks
 */
async function refuseLoneNode({ name, client }: Server): Promise<void> {
  if (isCluster(client)) return;
  const info = await askText(client, 'info', 'cluster');
  if (field(info ?? '', 'cluster_enabled') !== '1') return;
  throw new Error(`${name} is a node of a Cluster: add --cluster`);
}

async function refresh(view: View, terminal: Terminal, everyMs: number, io: Run): Promise<void> {
  const ending = new AbortController();
  const { signal } = ending;
  const ended = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => {
      resolve();
    });
  });
  const stop = terminal.onKey((key) => {
    if (key === 'q' || key === 'Q' || key.includes(CTRL_C)) ending.abort();
  });
  io.out(ENTER);
  try {
    while (!signal.aborted) {
      const shown = await Promise.race([view.next(), ended]);
      if (shown === undefined) return;
      io.out(CLEAR + frameOf(shown, terminal));
      await sleep(everyMs, undefined, { signal }).catch(() => undefined);
    }
  } finally {
    io.out(LEAVE);
    stop();
  }
}

/** The locks of all servers, found step by step. */
class View {
  readonly #finders: readonly (readonly [watched: Watched, finders: readonly LockFinder[]])[];

  constructor(
    watched: readonly Watched[],
    private readonly names: readonly string[],
    private readonly io: Run,
  ) {
    this.#finders = watched.map((one) => [
      one,
      names.length > 0
        ? []
        : nodesOf(one.server).map(({ client }) => new LockFinder(client, io.keyPrefix)),
    ]);
  }

  /** The next frame, with the locks that are known so far. */
  next(): Promise<Shown> {
    return within(MOST_MS, 'the inspection of the locks', this.#look());
  }

  /** The first frame with all locks. */
  async all(): Promise<Shown> {
    for (;;) {
      const shown = await this.next();
      if (shown.isComplete) return shown;
    }
  }

  async #look(): Promise<Shown> {
    const looks: Shown['looks'][number][] = [];
    const problems: Shown['problems'][number][] = [];
    let isComplete = true;
    for (const [watched, finders] of this.#finders) {
      const named = await namesOf(watched, this.names, (problem) => problems.push(problem));
      looks.push(...named);
      const held = await Promise.all(finders.map((finder) => this.#held(watched, finder)));
      looks.push(...held.flat());
      isComplete &&= finders.every((finder) => finder.isComplete);
    }
    return {
      looks,
      problems,
      isComplete,
      servers: this.#finders.map(([{ server }]) => server.name),
    };
  }

  /** Holders and waiters of a node, as far as its keys can be scanned in the time of a frame. */
  async #held(watched: Watched, finder: LockFinder): Promise<Shown['looks']> {
    const { clock } = this.io;
    const refuse = ({ name }: { readonly name: string }) => {
      finder.refuse(name);
    };
    const until = clock.now() + SEARCH_MS;
    do {
      const found = await namesOf(watched, await finder.next(), refuse);
      for (const look of found) if (isUsed(look)) finder.names.add(look.name);
    } while (!finder.isAtEnd && clock.now() < until);
    const looks = await namesOf(watched, [...finder.names], refuse);
    for (const look of looks) if (!isUsed(look)) finder.drop(look.name);
    return looks.filter(isUsed);
  }
}

function isUsed({ holderCount, queues }: LockInspection): boolean {
  return holderCount > 0 || queues.length > 0;
}

async function namesOf(
  watched: Watched,
  names: readonly string[],
  refuse: (problem: Shown['problems'][number]) => void,
): Promise<Shown['looks']> {
  const looks: Shown['looks'][number][] = [];
  for (let at = 0; at < names.length; at += AT_ONCE) {
    const part = names.slice(at, at + AT_ONCE);
    const found = part.map(async (name) =>
      (await lookAt([watched], name)).map((look) => ({ ...look, name })),
    );
    for (const look of (await Promise.all(found)).flat()) {
      if ('problem' in look) refuse(look);
      else looks.push(look);
    }
  }
  return looks;
}
