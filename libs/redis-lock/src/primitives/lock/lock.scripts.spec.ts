import { describeLineScripts } from '../../../../../test/contract/line-scripts.contract.js';
import { LINE_KINDS } from '../../../../../test/support/line-kinds.js';

describeLineScripts('the lock', LINE_KINDS.LOCK);
