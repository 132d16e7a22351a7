/**
 * The exports of the package by task, the common ones first. The build fails when one is missing.
 * @typedef {{ en: string, zh: string, names: string[] }} Group
 * @type {Group[]}
 */
export const GROUPS = [
  {
    ...{ en: 'Acquire and hold', zh: '加锁与持有' },
    names: [
      ...['LockService', 'Lock', 'AcquireOptions', 'Lease', 'CurrentLock', 'Nesting'],
      'WaitOptions',
    ],
  },
  {
    ...{ en: 'Decorators', zh: '装饰器' },
    names: [
      ...['WithLock', 'WithLockOptions', 'LockKey', 'OnBusy', 'OnBackendError', 'WithFairLock'],
      ...['WithReadLock', 'WithWriteLock', 'WithSemaphore', 'CronLock', 'CronLockOptions'],
      'LockedMethodDecorator',
    ],
  },
  {
    ...{ en: 'Module and injection', zh: '模块与注入' },
    names: [
      ...['RedisLockModule', 'RedisLockModuleOptions', 'RedisLockModuleAsyncOptions'],
      ...['RedisLockOptionsFactory', 'RedisLockOptions', 'LockSettings', 'LockTuning'],
      ...['ConnectionOption', 'InjectLock', 'LockTemplate', 'LockTemplateOptions', 'LockValues'],
      ...['InjectLockService', 'getLockToken', 'getLockServiceToken'],
    ],
  },
  {
    ...{ en: 'Fair, read-write, red and multi locks', zh: '公平锁、读写锁、红锁、联锁' },
    names: [
      ...['FairLockService', 'ReadWriteLockService', 'ReadWriteLock', 'RedLockService'],
      ...['MultiLock', 'MultiLease'],
    ],
  },
  { ...{ en: 'Fencing', zh: '围栏令牌' }, names: ['FencingGuard', 'SqlFence'] },
  {
    ...{ en: 'Semaphores and latches', zh: '信号量与闭锁' },
    names: [
      ...['SemaphoreService', 'Semaphore', 'SemaphoreOptions', 'SemaphoreAcquireOptions'],
      ...['PermitLease', 'CountingSemaphore', 'LatchService', 'CountDownLatch'],
    ],
  },
  {
    ...{ en: 'Errors', zh: '错误' },
    names: [
      ...['LockTimeoutError', 'LeaseLostError', 'LockBackendError', 'LockReplicationError'],
      ...['LockQuorumError', 'LockNestingError', 'LockKeyError', 'LockArgumentError'],
      ...['LockConfigurationError', 'LockLimitError', 'LockStateError', 'LockShutdownError'],
      ...['LockError', 'LockErrorCode'],
    ],
  },
  {
    ...{ en: 'Requests over HTTP', zh: 'HTTP 请求' },
    names: [
      ...['LockExceptionFilter', 'LockExceptionFilterOptions', 'LockInterceptor'],
      ...['ApiLockResponses', 'RedisThrottlerModule', 'RedisThrottlerOptions'],
      'RedisThrottlerStorage',
    ],
  },
  {
    ...{ en: 'Observe and administer', zh: '观测与管理' },
    names: [
      ...[
        'LockMonitor',
        'LockInspection',
        'LockStatus',
        'ForceReleaseOptions',
        'collectLockMetrics',
      ],
      ...['instrumentLocks', 'LockInstrumentationOptions', 'LockHealthIndicator', 'LockHealth'],
      ...['LockHealthOptions', 'LockObserver', 'LockEvent', 'LockEventMessage'],
      ...['LockAcquisitionMessage', 'LockSubject', 'LockKind', 'LockProcess'],
    ],
  },
  {
    ...{ en: 'Testing', zh: '测试' },
    names: [
      ...['RedisLockTestingModule', 'RedisLockTestingModuleOptions', 'LockTestingOptions'],
      ...['RedisLockTestingModuleAsyncOptions', 'LockTesting', 'HoldElsewhereOptions'],
      ...['HeldLock', 'HoldKind', 'ManualClock'],
    ],
  },
  {
    ...{ en: 'Clients, and use without Nest', zh: '客户端，不依赖 Nest 的用法' },
    names: [
      ...['openLocks', 'OpenLocksOptions', 'LockFamily', 'nodeRedis', 'NodeRedisClient'],
      ...['NodeRedisOptions', 'BroughtClient', 'IovalkeyClient'],
    ],
  },
];
