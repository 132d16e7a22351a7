import { describeHandOffModel } from '../contract/hand-off-model.contract.js';
import { QUEUE_KINDS } from '../support/queue-kinds.js';

describeHandOffModel('the lock', QUEUE_KINDS.LOCK);
describeHandOffModel('the write lock', QUEUE_KINDS.WRITE_LOCK);
