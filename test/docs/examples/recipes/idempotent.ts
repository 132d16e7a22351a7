import { Body, Controller, Headers, Post } from '@nestjs/common';
import { LockKey, WithLock } from 'nestjs-redis-lock';
import { Pool } from 'pg';

interface Answer {
  id: number;
  sku: string;
}

@Controller('orders')
export class OrderController {
  constructor(private readonly database: Pool) {}

  @Post()
  @WithLock('request_<key>')
  async place(
    @LockKey('key') @Headers('idempotency-key') key: string,
    @Body('sku') sku: string,
  ): Promise<Answer | undefined> {
    const find = 'SELECT answer FROM request WHERE key = $1';
    const known = await this.database.query<{ answer: Answer }>(find, [key]);
    if (known.rows[0]) return known.rows[0].answer;
    // one statement: order and answer are committed together
    const { rows } = await this.database.query<{ answer: Answer }>(
      `WITH made AS (INSERT INTO orders (sku) VALUES ($2) RETURNING id, sku)
       INSERT INTO request (key, answer) SELECT $1, to_jsonb(made) FROM made RETURNING answer`,
      [key, sku],
    );
    return rows[0]?.answer;
  }
}
