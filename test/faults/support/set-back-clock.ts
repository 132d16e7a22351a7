import { systemClock, type Clock } from '../../../libs/redis-lock/src/core/time/clock.js';

const EVERY_MS = 100;
const BACK_MS = 50;

const start = Date.now();

/** A wall clock that a time server sets back ten times a second. */
export const setBackClock: Clock = {
  ...systemClock,
  wall: () => {
    const goneMs = Date.now() - start;
    return start + goneMs - BACK_MS * Math.floor(goneMs / EVERY_MS);
  },
};
