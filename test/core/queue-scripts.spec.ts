import { describeOutsiders } from '../contract/outsiders.contract.js';
import { describeQueueScripts } from '../contract/queue-scripts.contract.js';
import { QUEUE_KINDS } from '../support/queue-kinds.js';

describeQueueScripts('the lock', QUEUE_KINDS.LOCK);
describeOutsiders('the lock', QUEUE_KINDS.LOCK);
describeQueueScripts('the write lock', QUEUE_KINDS.WRITE_LOCK);
describeOutsiders('the write lock', QUEUE_KINDS.WRITE_LOCK);
