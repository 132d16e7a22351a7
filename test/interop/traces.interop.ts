import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { rm, writeFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { format } from 'prettier';
import { useRealRedis } from '../support/redis-server.js';
import { NEWEST_REDISSON, readTrace, traceFile, type TraceStep } from '../support/wire/trace.js';
import { Eavesdropper, withNoise } from '../support/wire/wire-state.js';
import { JavaError, Redisson, useRedisson } from './redisson.js';
import { SCENARIOS, type Scenario } from './scenarios.js';
import { Stage } from './stage.js';

const RECORD = process.env.REDISSON_RECORD === '1';

const redis = useRealRedis();
const java = useRedisson(redis);
let ofB: Redisson;
let ears: Eavesdropper;

beforeAll(async () => {
  ofB = await Redisson.start(redis.url);
  ears = new Eavesdropper(redis.admin);
  await ears.start();
});
afterEach(() => {
  ofB.resume();
  java.current.resume();
  ofB.newThreads();
});
afterAll(async () => {
  ears.stop();
  await ofB.kill();
});

describe.each(Object.entries(SCENARIOS))('the trace of %s', (primitive, scenarios) => {
  const recorded: Record<string, TraceStep[] | null> = {};
  afterAll(async () => {
    if (RECORD) await write(primitive, recorded);
  });

  /** The trace of Redisson, or null when this version cannot play the scenario. */
  const play = async (scenario: Scenario): Promise<TraceStep[] | null> => {
    const stage = new Stage(redis, ears, [java.current, ofB]);
    try {
      await scenario(stage);
    } catch (error) {
      if (error instanceof JavaError && error.type === 'NoSuchMethodException') return null;
      throw error;
    }
    return stage.steps;
  };

  it.each(Object.entries(scenarios))('%s', async (name, scenario) => {
    const steps = await play(scenario);
    recorded[name] = steps;
    if (RECORD) return;
    const model = await known(primitive, name);
    const lenient = steps?.map((step, i) => ({
      ...step,
      ...(step.keys && { keys: withNoise(step.keys, model?.[i]?.keys ?? {}) }),
    }));
    expect(lenient ?? null).toEqual(model);
  });
});

/** This version of Redisson did this when the traces were recorded. */
async function known(primitive: string, scenario: string) {
  const own = (await readTrace(primitive, Redisson.version))?.scenarios[scenario];
  return own === undefined ? (await readTrace(primitive))?.scenarios[scenario] : own;
}

async function write(primitive: string, recorded: Record<string, TraceStep[] | null>) {
  const file = traceFile(primitive, Redisson.version);
  const newest = Redisson.version === NEWEST_REDISSON ? null : await readTrace(primitive);
  const before = (await readTrace(primitive, Redisson.version))?.scenarios;
  const own = Object.entries({ ...before, ...recorded }).filter(
    ([name, steps]) =>
      name in (SCENARIOS[primitive] ?? {}) && !isDeepStrictEqual(steps, newest?.scenarios[name]),
  );
  if (own.length === 0) {
    await rm(file, { force: true });
    return;
  }
  const trace = { redisson: Redisson.version, scenarios: Object.fromEntries(own) };
  const json = JSON.stringify(trace);
  await writeFile(file, await format(json, { parser: 'json', printWidth: 100 }));
}
