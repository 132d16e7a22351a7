import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { PAGES, packedPage } from '../../scripts/library/pages.mjs';
import { pageOf } from '../support/proofs.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const LIBRARY = join(ROOT, 'libs/redis-lock');
const CHANGESET = join(ROOT, 'node_modules/@changesets/cli/bin.js');

type Permissions = Readonly<Record<string, string>>;

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Job {
  readonly needs?: string | readonly string[];
  readonly permissions?: Permissions;
  readonly uses?: string;
  readonly steps?: readonly Step[];
  readonly 'timeout-minutes'?: number;
}

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions: Permissions;
  readonly jobs: Readonly<Record<string, Job>>;
}

const yamlIn = <T>(folder: string): [string, T][] =>
  readdirSync(join(ROOT, folder)).map((file) => [
    file.replace('.yml', ''),
    parse(pageOf(`${folder}/${file}`)) as T,
  ]);

const workflows = yamlIn<Workflow>('.github/workflows');
const jobs = workflows.flatMap(([name, workflow]) =>
  Object.entries(workflow.jobs).map(([job, its]) => [`${name}/${job}`, workflow, its] as const),
);
const stepsOf = (job: Job | undefined) => job?.steps ?? [];
const runsOf = (job: Job | undefined) => stepsOf(job).flatMap(({ run }) => run ?? []);
const usesOf = (job: Job) =>
  [job.uses, ...stepsOf(job).map(({ uses }) => uses)].flatMap((its) => its ?? []);

const RELATIVE = /\]\((?![a-z]+:|#)([^)#\s]+)/g;

/** All other jobs may read the repository, or nothing. */
const MAY_WRITE = {
  'release/version': ['contents', 'pull-requests'],
  'release/publish': ['contents', 'id-token'],
};

describe('the workflows', () => {
  it('run scripts and files that exist', () => {
    const { scripts } = JSON.parse(pageOf('package.json')) as { scripts: object };
    const runs = jobs.flatMap(([, , job]) => runsOf(job)).join('\n');
    const named = [...runs.matchAll(/npm run (?:-\S+ )*([\w:]+)/g)].map(
      ([, script = '']) => script,
    );
    expect(named).not.toEqual([]);
    expect(named.filter((script) => !Object.hasOwn(scripts, script))).toEqual([]);
    expect(runs.split('\n')).toContain('.ci/run');
    expect(statSync(join(ROOT, '.ci/run')).mode & 0o111).not.toBe(0);
  });

  it('may write only where they must', () => {
    const writing = jobs.map(([name, workflow, job]) => {
      const permissions = Object.entries(job.permissions ?? workflow.permissions);
      return [name, permissions.filter(([, right]) => right !== 'read').map(([what]) => what)];
    });
    const those = writing.filter(([, rights = []]) => rights.length > 0);
    expect(Object.fromEntries(those)).toEqual(MAY_WRITE);
    for (const [name, { permissions }] of workflows) {
      expect([name, Object.entries(permissions)]).toEqual([
        name,
        expect.not.arrayContaining([[expect.anything(), 'write']]),
      ]);
    }
  });

  it('use actions of one commit, and workflows that exist', () => {
    for (const used of jobs.flatMap(([, , job]) => usesOf(job))) {
      if (used.startsWith('./')) expect(statSync(join(ROOT, used)).isFile()).toBe(true);
      else expect(used).toMatch(/^[\w-]+\/[\w-]+@[\da-f]{40}$/);
    }
  });

  it('end in time, and put no text of others into a shell', () => {
    const endless = jobs.filter(([, , job]) => job.uses === undefined && !job['timeout-minutes']);
    expect(endless.map(([name]) => name)).toEqual([]);
    expect(jobs.flatMap(([, , job]) => runsOf(job)).filter((run) => run.includes('${{'))).toEqual(
      [],
    );
  });

  it('install no code of dependencies where they may publish', () => {
    const publish = jobs.find(([name]) => name === 'release/publish')?.[2];
    expect(runsOf(publish).filter((run) => /npm (ci|install|run)|npx/.test(run))).toEqual([]);
    expect(stepsOf(publish).filter(({ uses }) => uses?.startsWith('actions/checkout'))).toEqual([]);
  });
});

describe('the release', () => {
  const release = new Map(workflows).get('release');

  it('publishes from main alone, with provenance, after all checks', () => {
    expect(release?.on).toEqual({ push: { branches: ['main'] } });
    const published = runsOf(release?.jobs.publish).filter((run) => run.includes('npm publish'));
    expect(published).toEqual(['npm publish ./*.tgz --provenance --access public']);
    expect(jobs.filter(([, , job]) => runsOf(job).join().includes('npm publish'))).toHaveLength(1);
    const needed = [release?.jobs.publish?.needs ?? []].flat();
    const called = needed.map((name) => release?.jobs[name]?.uses);
    for (const [workflow, job, run] of [
      ['ci', 'checks', '.ci/run'],
      ['matrix', 'matrix', 'npm run matrix'],
    ] as const) {
      expect(called).toContain(`./.github/workflows/${workflow}.yml`);
      expect(runsOf(new Map(workflows).get(workflow)?.jobs[job])).toContain(run);
    }
  });

  it('packs pages whose links lead into the repository of the workflow', () => {
    const code = `import { REPOSITORY } from './site/settings.mjs'; console.log(REPOSITORY)`;
    const env = { GITHUB_SERVER_URL: 'https://git.test', GITHUB_REPOSITORY: 'shop/locks' };
    const args = ['--input-type=module', '--eval', code];
    const { stdout } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8', env });
    expect(stdout).toBe('https://git.test/shop/locks\n');
    for (const page of PAGES) {
      const text = packedPage(page, pageOf(page), stdout.trim());
      expect(text).not.toMatch(RELATIVE);
      const links = [
        ...text.matchAll(/\]\(https:\/\/git.test\/shop\/locks\/blob\/main\/([^)#]+)/g),
      ];
      expect(links.filter(([, path = '']) => !existsSync(join(ROOT, path)))).toEqual([]);
      expect(links).not.toEqual([]);
    }
  });

  it('packs pages without a repository that name no picture, and no page that is elsewhere', () => {
    for (const page of PAGES) {
      const text = packedPage(page, pageOf(page), '');
      expect(text).not.toMatch(/<picture>|Longer bars|条形|^中文$/m);
      const targets = [...text.matchAll(RELATIVE)].map(([, path = '']) =>
        posix.join(page, '..', path),
      );
      expect(targets.filter((path) => !PAGES.includes(path))).toEqual([]);
      for (const kept of pageOf(page).match(/^(#|- \*\*).*(?=\n)/gm) ?? [])
        if (!kept.includes('](')) expect(text).toContain(kept);
    }
  });

  describe('of a copy', () => {
    let folder: string;
    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), 'release-'));
      for (const file of ['package.json', 'CHANGELOG.md', '.changeset'])
        cpSync(join(LIBRARY, file), join(folder, file), { recursive: true });
    });
    afterAll(() => {
      rmSync(folder, { recursive: true });
    });
    const here = (file: string) => readFileSync(join(folder, file), 'utf8');

    it('makes the next version and its entry in the changelog from the changesets', () => {
      const text = "---\n'nestjs-redis-lock': minor\n---\n\nTells the time.\n";
      writeFileSync(join(folder, '.changeset', 'of-this-spec.md'), text);
      const before = JSON.parse(here('package.json')) as { version: string };
      const [major, minor] = before.version.split('.').map(Number);
      const { status, stderr } = spawnSync(process.execPath, [CHANGESET, 'version'], {
        cwd: folder,
        encoding: 'utf8',
      });
      expect([status, stderr]).toEqual([0, expect.not.stringMatching(/error/i)]);
      const version = `${major}.${Number(minor) + 1}.0`;
      expect(JSON.parse(here('package.json'))).toEqual({ ...before, version });
      const [, entry = ''] = here('CHANGELOG.md').split(/^## /m);
      expect(entry).toMatch(new RegExp(`^${version}\n\n### Minor Changes\n`));
      expect(entry).toContain('- Tells the time.');
      expect(readdirSync(join(folder, '.changeset')).sort()).toEqual(['README.md', 'config.json']);
    });
  });
});

interface Field {
  readonly type: string;
  readonly id?: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly validations?: { readonly required?: boolean };
}

interface Form {
  readonly name: string;
  readonly description: string;
  readonly body: readonly Field[];
}

describe('the forms of issues', () => {
  const forms = yamlIn<Form>('.github/ISSUE_TEMPLATE').filter(([file]) => file !== 'config');

  it.each(forms)('can be shown by GitHub: %s', (_, { name, description, body }) => {
    expect([typeof name, typeof description]).toEqual(['string', 'string']);
    const asking = body.filter(({ type }) => type !== 'markdown');
    expect(body.filter(({ type }) => !/^(markdown|input|textarea|dropdown)$/.test(type))).toEqual(
      [],
    );
    expect(asking.filter(({ attributes }) => typeof attributes.label !== 'string')).toEqual([]);
    expect(new Set(asking.map(({ id }) => id)).size).toBe(asking.length);
    expect(asking.filter(({ id }) => !/^[\w-]+$/.test(id ?? ''))).toEqual([]);
    expect(asking.some(({ validations }) => validations?.required)).toBe(true);
    for (const { attributes } of body.filter(({ type }) => type === 'dropdown')) {
      const options = attributes.options as string[];
      expect(new Set(options).size).toBe(options.length);
    }
  });

  it('ask for the versions, the topology and what the doctor says', () => {
    const ids = new Map(forms).get('bug')?.body.map(({ id }) => id);
    expect(ids).toEqual(
      expect.arrayContaining(['library', 'versions', 'server', 'topology', 'doctor']),
    );
  });
});
