import { describeHandOffModel } from '../contract/hand-off-model.contract.js';
import { LINE_KINDS } from '../support/line-kinds.js';

describeHandOffModel('the lock', LINE_KINDS.LOCK);
describeHandOffModel('the write lock', LINE_KINDS.WRITE_LOCK);
