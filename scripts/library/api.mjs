// The public surface as it was reviewed: `npm run api` writes it anew, for a review to show.
//   --check   fails if it is not what is committed
import {
  CompilerState,
  Extractor,
  ExtractorConfig,
  ExtractorLogLevel,
} from '@microsoft/api-extractor';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { argv } from 'node:process';
import { isDeepStrictEqual } from 'node:util';
import { entries, LIBRARY, MANIFEST, manifest } from './surface.mjs';

const REPORTS = join(LIBRARY, 'api');
const check = argv.includes('--check');
const names = entries();
const work = mkdtempSync(join(tmpdir(), 'api-reports-'));
const differing = [];

if (differsInManifest()) differing.push('package.json');
for (const file of readdirSync(REPORTS)) {
  if (names.includes(file.replace(/\.api\.md$/, ''))) continue;
  differing.push(`api/${file}`);
  if (!check) rmSync(join(REPORTS, file));
}
const configs = names.map(configOf);
const compilerState = CompilerState.create(/** @type {ExtractorConfig} */ (configs[0]), {
  additionalEntryPoints: configs.map(({ mainEntryPointFilePath }) => mainEntryPointFilePath),
});
for (const [index, config] of configs.entries()) {
  const { apiReportChanged, errorCount } = Extractor.invoke(config, {
    compilerState,
    localBuild: !check,
    printApiReportDiff: check,
    messageCallback: (message) => {
      // The important messages are below; the rest is in the reports.
      if (
        message.logLevel !== ExtractorLogLevel.Error &&
        message.messageId !== 'console-api-report-diff'
      )
        message.handled = true;
    },
  });
  if (errorCount > 0) process.exitCode = 1;
  if (apiReportChanged) differing.push(`api/${names[index]}.api.md`);
}
rmSync(work, { recursive: true });

if (check && differing.length > 0) {
  console.error(`Not as reviewed: ${differing.join(', ')}. If that is meant: npm run api`);
  process.exitCode = 1;
} else if (differing.length > 0) {
  console.log(`Written anew: ${differing.join(', ')}`);
}

/** Whether package.json says something else of the entries; unless this checks, no longer. */
function differsInManifest() {
  const { now, due } = manifest();
  if (isDeepStrictEqual(now, due)) return false;
  if (!check) writeFileSync(MANIFEST, `${JSON.stringify(due, null, 2)}\n`);
  return true;
}

/** @param {string} entry */
function configOf(entry) {
  return ExtractorConfig.prepare({
    packageJsonFullPath: MANIFEST,
    configObjectFullPath: undefined,
    configObject: {
      projectFolder: LIBRARY,
      newlineKind: 'lf',
      mainEntryPointFilePath: join(LIBRARY, 'dist', 'esm', `${entry}.d.ts`),
      compiler: { tsconfigFilePath: join(LIBRARY, 'tsconfig.lib.json') },
      apiReport: {
        enabled: true,
        reportFileName: `${entry}.api.md`,
        reportFolder: REPORTS,
        reportTempFolder: work,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        compilerMessageReporting: { default: { logLevel: ExtractorLogLevel.Error } },
        extractorMessageReporting: {
          default: { logLevel: ExtractorLogLevel.Warning, addToApiReportFile: true },
          // All exports are public; typedoc reports missing comments.
          'ae-missing-release-tag': { logLevel: ExtractorLogLevel.None },
          'ae-undocumented': { logLevel: ExtractorLogLevel.None },
        },
        tsdocMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
      },
    },
  });
}
