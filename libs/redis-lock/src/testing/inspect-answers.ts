import { INSPECT_NAME, type Line } from '../primitives/monitor/inspect.scripts.js';
import { READ_CLIENT, WRITE_CLIENT } from '../core/client-record.js';
import { answer, type Answer, type Call } from './answers.js';
import { FairQueue } from './fair-lock-answers.js';
import { Count, Value, type InProcessServer } from './in-process-server.js';
import { HeldLock } from './lock-answers.js';
import { Mark, PermitLeases } from './permit-answers.js';
import { ReadWriteHold, readersOf } from './read-write-answers.js';
import { Waiting } from './waiting-turns.js';

/** The record of a client. */
class ClientText extends Value {
  constructor(readonly text: string) {
    super();
  }
}

type Looking = Call<
  'lock' | 'leases' | 'token' | 'fairQueue' | 'turn' | 'writers' | 'readers' | 'mark',
  'most'
>;

const line = (what: string, who: string, first = 0, second = 0): Line => ({
  ...{ what, who, first, second },
});

function leftOf(server: InProcessServer, endsAt: number): number {
  return endsAt === Infinity ? -1 : Math.max(0, endsAt - server.now);
}

function valueLines({ server, lock, fairQueue }: Looking): Line[] {
  const value = server.peek(lock);
  if (value instanceof Count) return [line('count', '', value.count)];
  if (value instanceof ReadWriteHold) return readWriteLines(server, value);
  const held = server.find(lock, HeldLock);
  if (held === undefined) return [];
  const isFair = (server.find(fairQueue, FairQueue)?.waiters.size ?? 0) > 0;
  const { owner, holdCount, endsAt } = held;
  return [
    line(isFair ? 'fair' : 'lock', owner, holdCount, leftOf(server, endsAt)),
    line('holders', '', 1),
  ];
}

function readWriteLines(server: InProcessServer, hold: ReadWriteHold): Line[] {
  const { writer, holdCount, endsAt, readers } = hold;
  const own =
    writer === undefined ? [] : [line('write', writer, holdCount, leftOf(server, endsAt))];
  const reading = readersOf(hold).map((reader) => {
    const until = Math.max(...(readers.get(reader.owner) ?? []));
    return line('read', reader.owner, reader.holdCount, leftOf(server, until));
  });
  return [...own, ...reading, line('holders', '', own.length + reading.length)];
}

function permitLines({ server, leases }: Looking): Line[] {
  const { ends } = server.find(leases, PermitLeases) ?? { ends: new Map<string, number>() };
  if (ends.size === 0) return [];
  const held = [...ends].filter(([, end]) => end > server.now);
  return [
    ...held.map(([id, end]) => line('semaphore', id, 1, leftOf(server, end))),
    line('permits-used', '', ends.size, ends.size - held.length),
  ];
}

/** Waiters of other kinds have no queue. */
function waiterLines({ server, fairQueue, turn, writers, readers, mark }: Looking): Line[] {
  const fair = server.find(fairQueue, FairQueue);
  const inOrder = [...(fair?.waiters ?? [])].map((who): [string, number] => [
    who,
    fair?.endOf(who) ?? 0,
  ]);
  const remembered = (key: string) => [...(server.find(key, Waiting)?.until ?? [])];
  const queues: [string, [string, number][]][] = [
    ['fair-queue', inOrder],
    ['turn', remembered(turn)],
    ['writers', remembered(writers)],
    ['readers', remembered(readers)],
  ];
  const lines = queues.flatMap(([what, waiters]) => [
    ...waiters.map(([who, end]) => line(what, who, -1, leftOf(server, end))),
    ...(waiters.length === 0 ? [] : [line('length', what, waiters.length)]),
  ]);
  const wanting = server.find(mark, Mark);
  if (wanting === undefined) return lines;
  const { waiter, permits, endsAt } = wanting;
  return [
    ...lines,
    line('length', 'mark', 1),
    line('mark', waiter, permits, leftOf(server, endsAt)),
  ];
}

export const INSPECT_ANSWERS: readonly Answer[] = [
  answer(INSPECT_NAME, undefined, (call) => {
    const token = call.server.find(call.token, Count);
    const tokens = token === undefined ? [] : [line('token', String(token.count))];
    return [...valueLines(call), ...permitLines(call), ...waiterLines(call), ...tokens];
  }),
  answer(WRITE_CLIENT, undefined, ({ server, record, process, numbers }) => {
    server.put(record, new ClientText(process), numbers.ttlMs);
    return 1 as const;
  }),
  answer(READ_CLIENT, undefined, ({ server, record }) => {
    return server.find(record, ClientText)?.text ?? '';
  }),
];
