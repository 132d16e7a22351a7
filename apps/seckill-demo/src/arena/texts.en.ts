import type { Cell } from './cell.js';
import type { LoadResult } from './load-result.js';
import type { PartResult } from './parts/part.js';
import type { Texts } from './texts.js';

export const english: Texts = {
  privateRedis: (port) => `Private Redis on 127.0.0.1:${port}.`,
  foreignRedis: (prefix) =>
    `Using the Redis of REDIS_URL under the prefix ${prefix} and removing only those keys. ` +
    'None of the faults stops Redis, so all of them run.',
  cannotRecord: (reason) => `--record cannot write its file: ${reason}`,
  pageAt: (url) => `Watch it at ${url}`,
  redisUnreachable: (reason) => `the Redis of REDIS_URL cannot be used: ${reason}`,
  privateDatabase: (port) => `Private Postgres on 127.0.0.1:${port}.`,
  foreignDatabase: (schema) =>
    `Using the Postgres of DATABASE_URL in the new schema ${schema} and removing only that.`,
  databaseUnreachable: (reason) => `the Postgres of DATABASE_URL cannot be used: ${reason}`,
  cell: titleOf,
  duelVerdict: ({ strategy, sold, stock, oversold }) =>
    `${strategy}: sold ${sold} of ${stock}${oversold > 0 ? `, ${oversold} oversold` : ''}.`,

  loadTitle: (stock, buyers) =>
    `The rush: ${stock} in stock, ${buyers} buyers at once, each tries once`,
  loadColumns: [
    'strategy',
    'sold',
    'over\nsold',
    'under\nsold',
    'books\ndiff',
    'sent\naway',
    'sold\nper s',
    'p50\nms',
    'p99\nms',
    'verdict',
  ],
  processes: (number) => `With ${count(number, 'process', 'es')}:`,
  verdict: verdictOf,
  loadNotes: `sold: buyers who were told that they got one. oversold: more than there was.
undersold ("Left 99 unsold"): left over although buyers were sent away. books
diff: orders on record minus what the stock says was sold. sent away: because it
was sold out, or somebody else was buying. p50, p99: half of the buyers, and all
but 1 %, were answered after so long, from the opening of the doors. Where a
strategy is expected to fail, its first orders are held between read and write
until the failure is certain.`,
  costTitle: 'What an order costs Redis, and whether buyers are served as they come:',
  costColumns: [
    (processes) => `commands\nper order,\n${count(processes, 'process', 'es')}`,
    (processes) => `overtaken,\n% of pairs,\n${count(processes, 'process', 'es')}`,
  ],
  costNotes: `commands: all that Redis ran for a buyer, those in scripts included. overtaken:
pairs of buyers who got one in another order than they came; 0 is a queue, 50
is chance. -: two have bought the same piece, or fewer than two bought.`,
  strategyTitle: 'The strategies; up to redis-lock, each mends a flaw of the one before:',
  strategies: {
    naive: 'no lock',
    'in-process': 'a mutex in the memory of each process',
    setnx: 'SETNX; whoever does not get the lock goes away',
    'setnx-expire': 'SETNX, then EXPIRE',
    'set-nx-px': 'both in one command, SET with NX and PX',
    'owner-check': 'the lock names its owner, who looks (GET) before the DEL',
    'lua-release': 'look and delete in one script',
    'redis-lock': 'this library: waits, renews its lease, looks before it writes',
    fair: 'this library, in the order of arrival',
    'lock-in-tx': 'as redis-lock, but given back before the transaction commits',
    fenced: 'as redis-lock, and the database refuses who comes too late',
    'sql-update': 'no lock in Redis: UPDATE … WHERE stock > 0',
    'lua-decrement': 'a counter in Redis before sql-update; no lock',
    redlock: 'the library redlock 5 (beta), one Redis',
    'redis-semaphore': 'the library redis-semaphore 5, its mutex',
  },

  faultTitle: 'The faults: what became of the sale',
  faultColumn: 'strategy',
  faults: {
    'killed-in-section': 'killed\nin the\nsection',
    'killed-before-expire': 'killed\nbetween\nSETNX and\nEXPIRE',
    'slow-work': 'work\nlonger than\nthe lease',
    'lease-ends-before-del': 'lease ends\nbetween GET\nand DEL',
    frozen: 'frozen\nbeyond\nthe lease',
  },
  outcomes: {
    ok: 'ok',
    refused: 'refused',
    stuck: 'STUCK',
    'foreign-delete': 'FOREIGN DELETE',
    oversold: 'OVERSOLD',
    'stale-write': 'STALE WRITE',
    'lost-piece': 'LOST',
    none: '-',
    error: 'ERROR',
  },
  faultNotes: `STUCK: nobody can ever buy again. FOREIGN DELETE: the late holder deleted the
lock of whoever was inside. OVERSOLD: more orders than pieces. STALE WRITE: the
late holder wrote over what others had sold, and the stock is wrong. LOST: sold
out, and a piece was never sold. refused: the check before the write, or the
database, kept the late holder from writing; nothing is wrong in the books. -:
no lock in Redis, or that of redis-lock. A strategy without SETNX and EXPIRE is
killed right after it took the lock; one without GET and DEL is held right
before it gives the lock back. sql-update locks a row: while it is frozen,
others are busy.`,

  partTitle: 'The rest of the sale: what the other locks are for',
  partColumns: ['part', 'lock', 'without it', 'with it'],
  partLocks: {
    queue: 'fair lock',
    opening: 'latch',
    payment: 'semaphore',
    offer: 'read-write lock',
    cart: 'multi lock',
    ticket: 'rate limit',
    report: '@CronLock',
    fence: 'fencing token',
  },
  partFigures: figuresOf,
  partNotes: `queue: 20 buyers come one by one; inverted: pairs of them who bought in another
order than they came, measured and not promised without the fair lock. opening:
orders while one process was not ready (early), and after. payment: a gateway
that takes five at a time; thrown out: whoever was one too many. offer: buyers
read price and stock while both change; torn: they saw an old price with new
stock; at once: so many were reading together. cart: one wants A and B, another
B and A; deadlocked: each had what the other waited for, and nobody bought.
ticket: a visitor may try five times in ten seconds, and tries at each process.
report: the moment of a nightly job comes in all processes at once. fence: a
process freezes between assertHeld() and its write of the price 99; its lease
ends, and another one writes 49.`,

  checkPassed: (compared, measured, seconds) =>
    `check passed: ${compared} cells as expected` +
    `${measured > 0 ? `, ${measured} only measured` : ''}, ${seconds} s`,
  checkFailed: (mismatches, seconds) =>
    `check FAILED: ${count(mismatches, 'cell')} not as expected, ${seconds} s`,
  mismatch: ({ cell, expected, outcome }) =>
    `  ${titleOf(cell)}: expected "${expected}", saw "${outcome}"`,

  tutorialLines: `10 in stock, 11 buyers. What the log lines say:
  扣减成功，剩余库存：9    sold, 9 left
  获取锁失败，请重新尝试   did not get the lock, try again
  扣减失败，剩余库存不足   not sold, nothing left`,
  stage: (number, strategy) => `--- ${number}. ${strategy}`,
  serving: ({ url, pids, product, curls }) =>
    `Selling ${product.stock} pieces of product ${product.id} at ${url} (processes ${pids.join(', ')}). Try:\n` +
    curls.map((curl) => `  ${curl}\n`).join('') +
    'Ctrl-C stops everything.',
  portTaken: (port) => `Port ${port} is taken; another one it is.`,
  replaced: (pid) => `Process ${pid} ended; a new one takes its place.`,
  stopping: 'Stopping.',
};

function verdictOf(result: LoadResult): string {
  switch (result.outcome) {
    case 'oversells':
      return `Sold ${result.oversold} too many.`;
    case 'undersells':
      return `Left ${result.undersold} unsold.`;
    case 'miscounts':
      return `Count is ${Math.abs(result.ledgerDifference)} off.`;
    case 'breaks':
      return `No answer for ${result.failed}.`;
    case 'exact':
      return result.sold < result.stock ? 'Everybody got one.' : 'Sold out exactly.';
  }
}

function figuresOf(result: PartResult): string {
  switch (result.part) {
    case 'queue':
      return `${result.inversions} inverted, ${result.buyers} buyers`;
    case 'opening':
      return `${result.early} early, ${result.sold} after`;
    case 'payment':
      return `${result.paid} paid, ${result.refused} thrown out`;
    case 'offer':
      return `${result.torn} torn, ${result.together} at once`;
    case 'cart':
      return `${result.sold} sold, ${result.stuck} deadlocked`;
    case 'ticket':
      return `${result.letIn} let in, limit ${result.limit}`;
    case 'report':
      return `${count(result.runs, 'run')}, ${count(result.processes, 'process', 'es')}`;
    case 'fence':
      return `price ${result.price / 100}, ${result.outcome === 'refused' ? 'kept' : 'written late'}`;
  }
}

function titleOf(cell: Cell): string {
  switch (cell.kind) {
    case 'duel':
      return `${cell.strategy}: the duel`;
    case 'rush':
      return `${cell.strategy}: the rush, ${count(cell.processes, 'process', 'es')}`;
    case 'fault':
      return `${cell.strategy}: ${english.faults[cell.fault].replaceAll('\n', ' ')}`;
    case 'part':
      return `${cell.part}: ${cell.withLock ? 'with' : 'without'} the ${english.partLocks[cell.part]}`;
  }
}

function count(number: number, thing: string, plural = 's'): string {
  return `${number} ${thing}${number === 1 ? '' : plural}`;
}
