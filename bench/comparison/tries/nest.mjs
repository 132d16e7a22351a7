import {
  Controller,
  Get,
  Injectable,
  SetMetadata,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { map } from 'rxjs';
import { HOST, reported } from '../support.mjs';

/** @param {object} target @param {Record<string, MethodDecorator[]>} methods from the top to the bottom */
function decorate(target, methods) {
  for (const [name, decorators] of Object.entries(methods)) {
    const written = Object.getOwnPropertyDescriptor(target.prototype, name);
    const decorated = Reflect.decorate(decorators, target.prototype, name, written);
    Object.defineProperty(target.prototype, name, decorated);
  }
}

/** A module of NestJS that has only what it imports. */
function Root() {}

const deny = { canActivate: () => false };
const mark = { intercept: (_, next) => next.handle().pipe(map((text) => `marked ${text}`)) };
/** Lets a request in whose handler has a role. */
const needsRole = {
  canActivate: (context) => Reflect.getMetadata('role', context.getHandler()) === 'buyer',
};

/** Each handler, and what must answer it: by itself, and with a lock in the place of `lock`. */
const routesWith = (lock) => ({
  guardBelow: [[Get('guardBelow'), lock('a'), UseGuards(deny)], 403],
  guardAbove: [[Get('guardAbove'), UseGuards(deny), lock('b')], 403],
  interceptorBelow: [[Get('interceptorBelow'), lock('c'), UseInterceptors(mark)], 'marked done'],
  metadataBelow: [
    [Get('metadataBelow'), UseGuards(needsRole), lock('d'), SetMetadata('role', 'buyer')],
    'done',
  ],
  routeBelow: [[lock('e'), Get('routeBelow')], 'done'],
});

/** @returns {Promise<string[]>} the handlers that are answered otherwise than they must be */
async function wrongAnswers(imports, lock) {
  const routes = routesWith(lock);
  function Shop() {}
  for (const name of Object.keys(routes)) {
    const method = { value: async () => 'done', writable: true, configurable: true };
    Object.defineProperty(Shop.prototype, name, method);
  }
  decorate(Shop, Object.fromEntries(Object.entries(routes).map(([name, [them]]) => [name, them])));
  Controller()(Shop);
  const app = await NestFactory.create({ module: Root, imports, controllers: [Shop] }, QUIET);
  await app.listen(0, HOST);
  const wrong = [];
  for (const [name, [, expected]] of Object.entries(routes)) {
    const answer = await fetch(`${await app.getUrl()}/${name}`);
    const text = await answer.text();
    if (expected !== (answer.ok ? text : answer.status)) wrong.push(name);
  }
  await app.close();
  return wrong;
}

const QUIET = { logger: false };
const NO_DECORATOR = 'has no decorator';

export async function guards({ library, url }) {
  const bare = await wrongAnswers([], () => () => undefined);
  if (bare.length > 0) throw new Error(`without a lock these answers are wrong: ${bare.join()}`);
  if (!library.nest) return NO_DECORATOR;
  const wrong = await wrongAnswers([library.nest.module(url)], library.nest.decorator);
  if (wrong.length === 0) return 'yes';
  return wrong.includes('guardBelow') ? 'no: a guard below it does not run' : `no: ${wrong.join()}`;
}

/**
 * Runs work in a decorated method.
 * @param {object} module that provides the lock
 * @param {(key: string) => MethodDecorator} decorator
 */
export async function withService(module, decorator, use) {
  class Service {
    run(work) {
      return work();
    }
  }
  decorate(Service, { run: [decorator('service')] });
  Injectable()(Service);
  const root = { module: Root, imports: [module], providers: [Service] };
  const app = await NestFactory.createApplicationContext(root, QUIET);
  try {
    return await use(app.get(Service));
  } finally {
    await app.close();
  }
}

/**
 * @param {import('ioredis').Redis} admin
 * @param {(work: () => Promise<unknown>) => Promise<unknown>} run under the lock
 */
async function passes(admin, run) {
  const own = new TypeError('sold out');
  const thrownBy = (work) => run(work).catch((error) => error);
  const thrown = await thrownBy(() => Promise.reject(own));
  if (thrown !== own) return thrown.cause === own ? 'only as a `cause`' : 'no';
  const afterLoss = await thrownBy(async () => {
    await admin.flushall();
    throw own;
  });
  return afterLoss === own ? 'yes' : 'yes, unless the lock is lost';
}

export async function ownError({ library, locks, url, admin }) {
  if (library.hasNoWrapper) return 'has no wrapper';
  const byCall = await passes(admin, (work) => locks.using('error', work));
  if (!library.nest) return byCall;
  const { module, decorator } = library.nest;
  const use = (service) => passes(admin, (work) => service.run(work));
  const byMethod = await withService(module(url), decorator, use);
  return byMethod === byCall ? byCall : `by a call: ${byCall}; by its decorator: ${byMethod}`;
}

/** @param {import('../support.mjs').Setting} setting */
export async function lost({ library, locks, url, admin }) {
  const byCall = await reported(admin, (work) => locks.using('lost', work));
  if (!byCall || !library.nest) return byCall ? 'yes' : 'no';
  const { module, decorator, signal } = library.nest;
  const byMethod = await withService(module(url), decorator, (service) =>
    reported(admin, (work) => service.run(() => work(signal?.()))),
  );
  return byMethod ? 'yes' : 'by a call: yes; by its decorator: no';
}

/** Two callers of a decorated method take turns, and no server runs. */
export async function withoutRedis({ library }) {
  const { moduleWithoutRedis, decorator } = library.nest ?? {};
  if (!moduleWithoutRedis) return undefined;
  const events = [];
  await withService(moduleWithoutRedis(), decorator, (service) => {
    const work = async () => {
      events.push('in');
      await new Promise((resolve) => setTimeout(resolve, 50));
      events.push('out');
    };
    return Promise.all([service.run(work), service.run(work)]);
  });
  return events.join() === 'in,out,in,out' ? 'yes' : 'no';
}
