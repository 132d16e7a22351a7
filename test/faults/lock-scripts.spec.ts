import { describeQueueFaults } from '../contract/queue-faults.contract.js';
import { QUEUE_KINDS } from '../support/queue-kinds.js';

describeQueueFaults('the lock', QUEUE_KINDS.LOCK);
