import { describeHandOffModel } from '../contract/hand-off-model.contract.js';
import { LINE_KINDS } from '../support/line-kinds.js';

describeHandOffModel('the write lock', LINE_KINDS.WRITE_LOCK);
