import { describe, expect, it } from '@jest/globals';
import { Controller, Get, Module, Post, UseFilters } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DocumentBuilder, SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import {
  LockBackendError,
  LockConfigurationError,
  LockExceptionFilter,
  LockLimitError,
  LockShutdownError,
  LockTimeoutError,
  type LockExceptionFilterOptions,
} from 'nestjs-redis-lock';
import { ApiLockResponses } from 'nestjs-redis-lock/swagger';
import { SILENT } from './applications.js';

const ERRORS = [
  new LockTimeoutError('x', { waitedMs: 1, retryAfterMs: 29_000 }),
  new LockLimitError('x', 'maxKeys', 1),
  new LockBackendError('x', { retryable: true, outcome: 'none' }),
  new LockShutdownError('x'),
];

const CHANGED = { statuses: { LOCK_TIMEOUT: 409, LOCK_LIMIT: 503 }, retryAfterS: 7 } as const;

@Controller('orders')
@ApiLockResponses()
@UseFilters(LockExceptionFilter)
class Orders {
  @Post('0')
  busy(): never {
    throw ERRORS[0];
  }
  @Post('1')
  crowded(): never {
    throw ERRORS[1];
  }
  @Post('2')
  broken(): never {
    throw ERRORS[2];
  }
  @Post('3')
  closing(): never {
    throw ERRORS[3];
  }
}

@Controller('mixed')
class Mixed {
  @Get('open')
  open(): string {
    return 'open';
  }

  @Get('locked')
  @ApiLockResponses(CHANGED)
  locked(): string {
    return 'locked';
  }
}

@Module({ controllers: [Orders, Mixed] })
class App {}

interface Documented {
  readonly description: string;
  readonly headers: { 'Retry-After': { schema: { type: string; example: number } } };
  readonly content: {
    'application/json': { schema: { properties: Record<string, { enum: unknown[] }> } };
  };
}

const responsesOf = (document: OpenAPIObject, path: string, verb: 'get' | 'post') =>
  document.paths[path]?.[verb]?.responses as unknown as Record<string, Documented>;
const statusesOf = (responses: object) =>
  Object.keys(responses).filter((key) => !key.startsWith('2'));
const schemaOf = (response: Documented | undefined) =>
  response?.content['application/json'].schema.properties;

describe('@ApiLockResponses', () => {
  it('documents for a controller what the filter answers', async () => {
    const app = await NestFactory.create(App, SILENT);
    try {
      await app.listen(0, '127.0.0.1');
      const document = SwaggerModule.createDocument(app, new DocumentBuilder().build());
      const url = await app.getUrl();
      for (const index of ERRORS.keys()) {
        const responses = responsesOf(document, `/orders/${index}`, 'post');
        expect(statusesOf(responses)).toEqual(['423', '429', '503']);
        const answer = await fetch(`${url}/orders/${index}`, { method: 'POST' });
        const documented = responses[answer.status];
        const body = (await answer.json()) as Record<string, unknown>;
        const properties = schemaOf(documented) ?? {};
        expect(Object.keys(properties)).toEqual(Object.keys(body));
        for (const [name, value] of Object.entries(body)) {
          expect(properties[name]?.enum).toContain(value);
        }
        expect(documented?.description).toContain(body.message);
        expect(documented?.headers['Retry-After'].schema.type).toBe('integer');
        expect(answer.headers.has('retry-after')).toBe(true);
      }
    } finally {
      await app.close();
    }
  });

  it('documents one method, with the options of the filter', async () => {
    const app = await NestFactory.create(App, SILENT);
    try {
      await app.init();
      const document = SwaggerModule.createDocument(app, new DocumentBuilder().build());
      expect(statusesOf(responsesOf(document, '/mixed/open', 'get'))).toEqual([]);
      const responses = responsesOf(document, '/mixed/locked', 'get');
      expect(statusesOf(responses)).toEqual(['409', '503']);
      for (const status of [409, 503]) {
        expect(responses[status]?.headers['Retry-After'].schema.example).toBe(7);
      }
      expect(schemaOf(responses[409])).toMatchObject({
        statusCode: { enum: [409] },
        error: { enum: ['Conflict'] },
        code: { enum: ['LOCK_TIMEOUT'] },
      });
      const codes = ['LOCK_BACKEND', 'LOCK_QUORUM', 'LOCK_REPLICATION', 'LOCK_SHUTDOWN'];
      expect([...(schemaOf(responses[503])?.code?.enum ?? [])].sort()).toEqual([
        ...[...codes.slice(0, 1), 'LOCK_LIMIT', ...codes.slice(1)],
      ]);
    } finally {
      await app.close();
    }
  });

  it('refuses what the filter refuses', () => {
    const decorate = (options: unknown) => () =>
      ApiLockResponses(options as LockExceptionFilterOptions);
    expect(decorate({ statuses: { LOCK_TIMEOUT: 200 } })).toThrow(LockConfigurationError);
    expect(decorate({ retryAfter: 2 })).toThrow('@ApiLockResponses: unknown option "retryAfter"');
  });
});
