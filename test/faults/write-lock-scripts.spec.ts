import { describeQueueFaults } from '../contract/queue-faults.contract.js';
import { QUEUE_KINDS } from '../support/queue-kinds.js';

describeQueueFaults('the write lock', QUEUE_KINDS.WRITE_LOCK);
