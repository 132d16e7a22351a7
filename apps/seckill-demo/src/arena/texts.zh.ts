import type { Cell } from './cell.js';
import type { LoadResult } from './load-result.js';
import type { PartResult } from './parts/part.js';
import type { Texts } from './texts.js';

export const chinese: Texts = {
  privateRedis: (port) => `私有 Redis：127.0.0.1:${port}。`,
  foreignRedis: (prefix) =>
    `使用 REDIS_URL 指定的 Redis，前缀 ${prefix}，结束时只删除这些键。故障测试不会停止 Redis，因此全部照常执行。`,
  cannotRecord: (reason) => `--record 无法写入文件：${reason}`,
  pageAt: (url) => `打开网页观看：${url}`,
  redisUnreachable: (reason) => `REDIS_URL 指定的 Redis 不可用：${reason}`,
  privateDatabase: (port) => `私有 Postgres：127.0.0.1:${port}。`,
  foreignDatabase: (schema) =>
    `使用 DATABASE_URL 指定的 Postgres，新建模式 ${schema}，结束时只删除它。`,
  databaseUnreachable: (reason) => `DATABASE_URL 指定的 Postgres 不可用：${reason}`,
  cell: titleOf,
  duelVerdict: ({ strategy, sold, stock, oversold }) =>
    `${strategy}：库存 ${stock}，售出 ${sold}${oversold > 0 ? `，超卖 ${oversold} 件` : ''}。`,

  loadTitle: (stock, buyers) => `抢购：库存 ${stock}，${buyers} 人同时下单，每人只尝试一次`,
  loadColumns: [
    '策略',
    '售出',
    '超卖',
    '少卖',
    '账实差',
    '被拒',
    '订单\n/秒',
    'p50\nms',
    'p99\nms',
    '结论',
  ],
  processes: (number) => `${number} 个进程：`,
  verdict: verdictOf,
  loadNotes: `售出：下单成功的人数。超卖：售出数超过库存。少卖（“剩 99 件没卖”）：还有库存，
却有买家被拒。账实差：订单数减去库存计数器记录的售出数。被拒：已售罄，或其他买
家正在下单。p50、p99：从开门算起，50%、99% 的买家得到响应所用的时间。预期会出
错的策略，最先到达的订单会停在“读库存”与“写库存”之间，直到错误必然发生。`,
  costTitle: '每单在 Redis 中的开销，以及是否先到先得：',
  costColumns: [
    (processes) => `每单命令数，\n${processes} 个进程`,
    (processes) => `被插队（%），\n${processes} 个进程`,
  ],
  costNotes: `每单命令数：Redis 为一位买家执行的全部命令，包括脚本中的命令。被插队：在买到
的买家中，购买顺序与请求顺序相反的买家对所占的百分比，0 是排队，50 是随机。
fair 按它在 Redis 中的队列计算：它的承诺从入队开始。-：两位买家买到同一件，或买
到的不足两人。`,
  strategyTitle: '各种策略：从上到下，每一种修复前一种的漏洞，直到 redis-lock：',
  strategies: {
    naive: '不加锁',
    'in-process': '每个进程内存中的互斥锁',
    setnx: 'SETNX；没有获取到锁就直接返回',
    'setnx-expire': '先 SETNX，再 EXPIRE',
    'set-nx-px': '一条命令完成两步：带 NX 与 PX 的 SET',
    'owner-check': '键中记录持有者，DEL 之前先用 GET 校验',
    'lua-release': '校验与删除放在同一段脚本中',
    'redis-lock': '本库：排队等待，自动续期，写入前再次确认',
    fair: '本库的公平锁，先到先得',
    'lock-in-tx': '与 redis-lock 相同，但在事务提交之前就释放了锁',
    fenced: '与 redis-lock 相同，再由数据库拒绝迟到的写入',
    'sql-update': 'Redis 中不加锁：UPDATE … WHERE stock > 0',
    'lua-decrement': '先扣减 Redis 中的计数器，再执行 sql-update；不加锁',
    redlock: '第三方库 redlock 5（beta），单个 Redis',
    'redis-semaphore': '第三方库 redis-semaphore 5 的互斥锁',
  },

  faultTitle: '故障：发生之后这场秒杀的结果',
  faultColumn: '策略',
  faults: {
    'killed-in-section': '持锁时\n被杀',
    'killed-before-expire': 'SETNX 与\nEXPIRE 之间\n被杀',
    'slow-work': '业务耗时\n超过租期',
    'lease-ends-before-del': 'GET 与 DEL\n之间\n租约过期',
    frozen: '进程冻结\n超过租期',
  },
  outcomes: {
    ok: '正常',
    refused: '已拦下',
    stuck: '卡死',
    'foreign-delete': '误删他人锁',
    oversold: '超卖',
    'stale-write': '过期写入',
    'lost-piece': '丢一件',
    none: '-',
    error: '出错',
  },
  faultNotes: `卡死：此后任何买家都无法下单。误删他人锁：租约过期的持有者删除了下一个持有者的
锁。超卖：订单数超过库存。过期写入：租约过期的持有者覆盖了更新的库存，库存出错。
丢一件：已售罄，但有一件从未卖出。已拦下：写入前的检查或数据库拒绝了这次迟到的
写入，账目无误。-：Redis 中没有锁，或与 redis-lock 是同一把锁。不使用 SETNX 与
EXPIRE 两步的策略，在刚获取锁之后被杀；不使用 GET 与 DEL 两步的策略，停在即将释
放锁之前。sql-update 使用行锁：进程冻结期间，其他买家得到“正忙”。`,

  partTitle: '秒杀的其他环节，以及各自需要的锁',
  partColumns: ['环节', '锁', '不加锁', '加锁'],
  partLocks: {
    queue: '公平锁',
    opening: '闭锁',
    payment: '信号量',
    offer: '读写锁',
    cart: '联锁',
    ticket: '限流',
    report: '定时任务锁',
    fence: '围栏令牌',
  },
  partFigures: figuresOf,
  partNotes: `queue：20 个买家依次到达；逆序：购买顺序与到达顺序相反的买家对数，不用公平锁时
只测量，不作保证。opening：有一个进程尚未就绪时售出的订单（提前），以及全部就绪
之后的订单。payment：支付网关最多同时处理五笔付款；被拒：超出的付款。offer：买家
读取价格和库存时，商家正在修改两者；脏读：读到不一致的数据（旧价格与新库存）的买
家；同时读：同时读取的买家数。cart：一个买家要 A 和 B，另一个要 B 和 A，双方都在
等待对方持有的锁；放弃：等待超时的买家，另一方随后可能买到。ticket：每位访客十秒
内最多尝试五次，他在每个进程都尝试。report：夜间任务在各进程同时触发。fence：进
程在 assertHeld() 与写入价格 99 之间冻结，租约过期，另一个进程写入 49。`,

  checkPassed: (compared, measured, seconds) =>
    `检查通过：${compared} 格全部符合预期${measured > 0 ? `，另有 ${measured} 格仅测量` : ''}，${seconds} 秒`,
  checkFailed: (mismatches, seconds) => `检查未通过：${mismatches} 格不符合预期，${seconds} 秒`,
  mismatch: ({ cell, expected, outcome }) =>
    `  ${titleOf(cell)}：预期 "${expected}"，实际 "${outcome}"`,

  tutorialLines: '教程同款：库存 10，11 人抢购。',
  lesson: (number, title, chapter) =>
    `${number}. ${title}（${chapter === undefined ? '教程之外' : `教程 ${chapter}`}）`,
  flaw: (isHarm, cell, why) => `${isHarm ? '漏洞' : '守住了'}（${titleOf(cell)}）：${why}`,
  serving: ({ url, pids, product, curls }) =>
    `商品 ${product.id} 共 ${product.stock} 件，正在 ${url} 出售（进程 ${pids.join(', ')}）。可以尝试：\n` +
    curls.map((curl) => `  ${curl}\n`).join('') +
    '按 Ctrl-C 全部停止。',
  portTaken: (port) => `端口 ${port} 已被占用，改用其他端口。`,
  replaced: (pid) => `进程 ${pid} 已退出，由新进程接替。`,
  stopping: '正在停止。',
};

function verdictOf(result: LoadResult): string {
  switch (result.outcome) {
    case 'oversells':
      return `多卖了 ${result.oversold} 件。`;
    case 'undersells':
      return `剩 ${result.undersold} 件没卖。`;
    case 'miscounts':
      return `账目差 ${Math.abs(result.ledgerDifference)} 件。`;
    case 'breaks':
      return `${result.failed} 人没有响应。`;
    case 'exact':
      return result.sold < result.stock ? '人人有份。' : '正好卖完。';
  }
}

function figuresOf(result: PartResult): string {
  switch (result.part) {
    case 'queue':
      return `${result.buyers} 人，逆序 ${result.inversions} 对`;
    case 'opening':
      return `提前 ${result.early} 单，之后 ${result.sold} 单`;
    case 'payment':
      return `付款 ${result.paid}，被拒 ${result.refused}`;
    case 'offer':
      return `脏读 ${result.torn}，同时读 ${result.together}`;
    case 'cart':
      return `售出 ${result.sold}，放弃 ${result.stuck}`;
    case 'ticket':
      return `放行 ${result.letIn} 次，上限 ${result.limit}`;
    case 'report':
      return `执行 ${result.runs} 次，${result.processes} 个进程`;
    case 'fence':
      return `价格 ${result.price / 100}，${result.outcome === 'refused' ? '未被覆盖' : '被迟到写入'}`;
  }
}

function titleOf(cell: Cell): string {
  switch (cell.kind) {
    case 'duel':
      return `${cell.strategy}：对决`;
    case 'rush':
      return `${cell.strategy}：抢购，${cell.processes} 个进程`;
    case 'fault':
      return `${cell.strategy}：${oneLine(chinese.faults[cell.fault])}`;
    case 'part':
      return `${cell.part}：${cell.withLock ? '使用' : '不用'}${chinese.partLocks[cell.part]}`;
  }
}

/** Chinese text has no space at a line break, except beside Latin letters. */
function oneLine(heading: string): string {
  return heading.replace(/(?<=[A-Z])\n|\n(?=[A-Z])/g, ' ').replaceAll('\n', '');
}
