import { describe, expect, it } from '@jest/globals';
import { trace, type Meter } from '@opentelemetry/api';
import { collectLockMetrics } from 'nestjs-redis-lock/prometheus';
import { Registry } from 'prom-client';
import { LockInstruments } from '../../libs/redis-lock/src/integrations/otel/lock-instruments.js';
import { pageOf } from '../support/proofs.js';

const PAGE = pageOf('docs/observability.md');
const sorted = (names: Iterable<string>) => [...new Set(names)].sort();
const found = (text: string, pattern: RegExp) =>
  sorted([...text.matchAll(pattern)].map(([, name = '']) => name));
/** As Prometheus names what a histogram consists of. */
const withoutParts = (names: string[]) =>
  sorted(names.map((name) => name.replace(/_seconds_(bucket|sum|count)$/, '_seconds')));

describe('docs/observability.md', () => {
  const register = new Registry();
  const stop = collectLockMetrics(register);
  const metrics = register.getMetricsAsArray().map(({ name }) => name);
  stop();

  it('has every event', () => {
    const types = found(
      pageOf('libs/redis-lock/src/core/api/observer.ts'),
      /readonly type: '([\w-]+)'/g,
    );
    const table = PAGE.slice(PAGE.indexOf('## Events'), PAGE.indexOf('## Channels'));
    const rows = table.split('\n').filter((line) => line.startsWith('|'));
    const firsts = rows.map((row) => row.split('|')[1] ?? '').join('\n');
    expect(found(firsts, /`([\w-]+)`/g)).toEqual(types);
  });

  it('has every metric of Prometheus, and no other', () => {
    expect(found(PAGE, /^\| `(redis_lock_\w+)` +\|/gm)).toEqual(sorted(metrics));
    expect(metrics).toEqual(
      expect.arrayContaining(withoutParts(found(PAGE, /\b(redis_lock_\w+)/g))),
    );
  });

  it('has a dashboard of all these metrics', () => {
    const dashboard = pageOf('docs/grafana-dashboard.json');
    expect(withoutParts(found(dashboard, /\b(redis_lock_\w+)/g))).toEqual(sorted(metrics));
    const { panels } = JSON.parse(dashboard) as { panels: { targets: { expr: string }[] }[] };
    for (const { expr } of panels.flatMap(({ targets }) => targets)) {
      for (const [open, close] of ['()', '{}', '[]'] as const) {
        expect(expr.split(open ?? '')).toHaveLength(expr.split(close ?? '').length);
      }
    }
  });

  it('has alerts of these metrics, each with its row', () => {
    const alerts = pageOf('docs/prometheus-alerts.yaml');
    const named = withoutParts(found(alerts, /\b(redis_lock_\w+)/g));
    expect(metrics).toEqual(expect.arrayContaining(named));
    const rows = found(PAGE, /^\| `(\w+)` +\| (?:page|ticket) +\|/gm);
    expect(rows).toEqual(found(alerts, /- alert: (\w+)/g));
  });

  it('has every instrument of OpenTelemetry, and no other', () => {
    const made: string[] = [];
    const make = (name: string) => made.push(name);
    const meter = { createHistogram: make, createUpDownCounter: make, createCounter: make };
    new LockInstruments(meter as unknown as Meter, trace.getTracer('none'), false);
    const page = pageOf('docs/internals/observability.md');
    expect(found(page, /`(redis_lock\.[\w.]+)`/g)).toEqual(sorted(made));
  });
});
