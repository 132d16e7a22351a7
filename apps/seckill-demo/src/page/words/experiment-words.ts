import type { Fault, NumberName, PlaygroundStrategy } from '../../playground/experiment.js';
import type { InBoth } from '../words.js';

export interface ExperimentWords {
  readonly experiment: string;
  readonly strategy: string;
  readonly tutorial: string;
  readonly library: string;
  readonly strategies: Readonly<Record<PlaygroundStrategy, string>>;
  readonly numbers: Readonly<Record<NumberName, string>>;
  readonly nextSeed: string;
  readonly faults: string;
  readonly noFault: string;
  readonly fault: (fault: Fault) => string;
  readonly absent: string;
  readonly full: (most: number) => string;
  readonly remove: (fault: string) => string;
  readonly kind: string;
  readonly process: string;
  readonly at: string;
  readonly forMs: string;
  readonly add: string;
  readonly kinds: Readonly<Record<'kill' | 'freeze', string>>;
}

export const experimentWords: InBoth<ExperimentWords> = {
  en: {
    experiment: 'The experiment',
    strategy: 'strategy or lock',
    tutorial: 'The tutorial, step by step',
    library: 'This library',
    strategies: {
      naive: 'no lock',
      'in-process': 'a lock of the process',
      setnx: 'SETNX, DEL',
      'setnx-expire': 'SETNX, then EXPIRE',
      'set-nx-px': 'SET NX PX, DEL',
      'owner-check': 'owner checked before the DEL',
      'lua-release': 'owner checked by Lua',
      'lock-unchecked': 'lock, write unchecked',
      lock: 'lock, assertHeld() before the write',
      fair: 'fair lock, assertHeld()',
      'write-lock': 'write lock, assertHeld()',
      'fenced-late': 'lock, fenced at the write only',
      fenced: 'lock, fenced from the first read',
    },
    numbers: {
      seed: 'seed',
      processes: 'processes',
      callers: 'callers in each',
      leaseMs: 'lease (ms)',
      workMs: 'work (ms)',
      latencyMs: 'latency (ms)',
    },
    nextSeed: 'Next seed',
    faults: 'Faults',
    noFault: 'none',
    fault: ({ kind, process, at, ms }) =>
      kind === 'kill'
        ? `process ${process} is killed at ${at} ms`
        : `process ${process} freezes at ${at} ms, for ${ms} ms`,
    absent: 'it does not happen in this run',
    full: (most) => `An experiment has at most ${most} faults.`,
    remove: (fault) => `Remove: ${fault}`,
    kind: 'fault',
    process: 'process',
    at: 'at (ms)',
    forMs: 'for (ms)',
    add: 'Add the fault',
    kinds: { kill: 'kill', freeze: 'freeze' },
  },
  zh: {
    experiment: '实验设置',
    strategy: '策略或锁',
    tutorial: '教程中的各个阶段',
    library: '本库',
    strategies: {
      naive: '不加锁',
      'in-process': '进程内的锁',
      setnx: 'SETNX 加 DEL',
      'setnx-expire': '先 SETNX，再 EXPIRE',
      'set-nx-px': 'SET NX PX 加 DEL',
      'owner-check': 'DEL 前校验持有者',
      'lua-release': '用 Lua 校验并释放',
      'lock-unchecked': '锁，写入前不检查',
      lock: '锁，写入前 assertHeld()',
      fair: '公平锁，assertHeld()',
      'write-lock': '写锁，assertHeld()',
      'fenced-late': '锁，只在写入时校验围栏令牌',
      fenced: '锁，读取前先登记围栏令牌',
    },
    numbers: {
      seed: '种子',
      processes: '进程数',
      callers: '每个进程的调用方',
      leaseMs: '租约（ms）',
      workMs: '业务耗时（ms）',
      latencyMs: '网络延迟（ms）',
    },
    nextSeed: '换一个种子',
    faults: '故障',
    noFault: '无',
    fault: ({ kind, process, at, ms }) =>
      kind === 'kill'
        ? `进程 ${process} 在 ${at} ms 被杀`
        : `进程 ${process} 在 ${at} ms 冻结，持续 ${ms} ms`,
    absent: '本次运行中没有发生',
    full: (most) => `一次实验最多 ${most} 个故障。`,
    remove: (fault) => `删除：${fault}`,
    kind: '故障类型',
    process: '进程',
    at: '时刻（ms）',
    forMs: '持续（ms）',
    add: '添加故障',
    kinds: { kill: '杀掉进程', freeze: '冻结进程' },
  },
};
