import { afterEach, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { Example } from './example.js';

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}
interface Container {
  readonly name: string;
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly env: readonly { readonly name: string; readonly value?: string }[];
  readonly lifecycle: { readonly preStop: { readonly exec: { readonly command: string[] } } };
  readonly readinessProbe: Probe;
  readonly livenessProbe: Probe;
}
interface Manifest {
  readonly kind: string;
  readonly spec: {
    readonly replicas?: number;
    readonly selector: Record<string, unknown>;
    readonly ports?: readonly { readonly targetPort: string }[];
    readonly template?: {
      readonly metadata: { readonly labels: object };
      readonly spec: {
        readonly terminationGracePeriodSeconds: number;
        readonly containers: readonly [Container];
      };
    };
  };
}

const read = (file: string) =>
  readFileSync(new URL(`../../examples/kubernetes/${file}`, import.meta.url), 'utf8');
const documents = parseAllDocuments(read('manifests.yaml'));
const [deployment, service] = documents.map((document) => document.toJS() as Manifest);
const pod = deployment?.spec.template;
const container = pod?.spec.containers[0];
const code = read('main.ts');

afterEach(() => Example.endAll());

describe('the manifests', () => {
  it('are a deployment with three replicas, and a service that finds its pods', () => {
    expect(documents.flatMap(({ errors }) => errors)).toEqual([]);
    expect([deployment?.kind, service?.kind]).toEqual(['Deployment', 'Service']);
    expect(deployment?.spec.replicas).toBe(3);
    expect(deployment?.spec.selector).toEqual({ matchLabels: pod?.metadata.labels });
    expect(service?.spec.selector).toEqual(pod?.metadata.labels);
  });

  it('set the variables that the application reads, and its port', () => {
    const [, read = ''] = /const \{ (.*) \} = process\.env/.exec(code) ?? [];
    const names = [...read.matchAll(/([A-Z_]+) =/g)].map(([, name]) => name);
    expect(container?.env.map(({ name }) => name).sort()).toEqual(names.sort());
    const value = (name: string) => container?.env.find((its) => its.name === name)?.value;
    const [port] = container?.ports ?? [];
    expect(value('PORT')).toBe(String(port?.containerPort));
    expect(value('HOST')).toBe('0.0.0.0');
    const used = [
      ...[container?.readinessProbe.httpGet.port, container?.livenessProbe.httpGet.port],
      service?.spec.ports?.[0]?.targetPort,
    ];
    expect(used).toEqual([port?.name, port?.name, port?.name]);
  });

  it('leave more time than preStop and the shutdown take together', () => {
    const [command, seconds] = container?.lifecycle.preStop.exec.command ?? [];
    expect(command).toBe('sleep');
    const [, shutdownMs = ''] = /shutdownTimeoutMs: ([\d_]+)/.exec(code) ?? [];
    const neededMs = 1_000 * Number(seconds) + Number(shutdownMs.replace('_', ''));
    const graceMs = 1_000 * Number(pod?.spec.terminationGracePeriodSeconds);
    expect(neededMs).toBeGreaterThan(5_000);
    expect(graceMs).toBeGreaterThan(neededMs);
  });
});

describe('the example kubernetes', () => {
  it('has one leader, another one after SIGTERM, and serves the probes', async () => {
    const example = await Example.start('kubernetes');
    const [terminated] = await example.finds(/SIGTERM to (pod-\d)/, 1);
    const [url = ''] = await example.finds(/the probe of pod-\d: curl (http:\/\/[^/]+)/, 2);
    for (const { httpGet } of [container?.readinessProbe, container?.livenessProbe] as Probe[])
      expect((await fetch(`${url}${httpGet.path}`)).status).toBe(200);
    const leaders = await example.finds(/^\[(pod-\d)\] leads$/, 2);
    expect(leaders).toEqual([terminated, expect.not.stringMatching(String(terminated))]);
    await example.keepsPromises();
    await example.endsCleanly();
  });
});
