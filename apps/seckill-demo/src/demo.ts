import { NoRedisServerError } from '../../../scripts/find-redis-server.mjs';
import { NoPostgresServerError } from '../../../scripts/postgres-binaries.mjs';
import { DatabaseUnreachableError } from './arena/arena-database.js';
import { RedisUnreachableError } from './arena/arena-redis.js';
import { openArenaServers } from './arena/arena-servers.js';
import type { ArenaServers } from './arena/arena-servers.js';
import { Arena, fleetEnvironment } from './arena/arena.js';
import { Caretaker } from './arena/caretaker.js';
import { Closing } from './arena/closing.js';
import { ClusterFleet } from './arena/cluster-fleet.js';
import type { FleetOptions } from './arena/cluster-fleet.js';
import { LiveSale } from './arena/live-sale.js';
import type { Options } from './options/parse.mjs';
import { record, RecordingError } from './arena/recording.js';
import { checkText, reportJson, reportOf, reportText } from './arena/report.js';
import { RefusedError } from './arena/refused-error.js';
import type { Report } from './arena/report.js';
import { bannerFor } from './arena/serving.js';
import { obeyStopSignals } from './arena/stop-signals.js';
import { Steps } from './arena/steps.js';
import { Terminal } from './arena/terminal.js';
import { texts } from './arena/languages.js';
import { lessonFlaw, lessonHead, TUTORIAL, tutorialSale } from './arena/tutorial.js';
import { LESSONS } from './lessons/lessons.js';
import { openBrowser } from './web/open-browser.js';
import { openPage } from './web/open-page.js';
import type { CarryOut } from './web/page.controller.js';

const UNAVAILABLE = 69;
const CANNOT_CREATE = 73;

type Care = Required<Pick<FleetOptions, 'onFleet' | 'onFrozen'>>;

class Demo {
  readonly #say;
  readonly #closing = new Closing();
  readonly #steps = new Steps();
  #carryOut: CarryOut = () =>
    Promise.reject(new RefusedError('not-open', 'the arena is starting; try again later'));
  #isServing = false;

  constructor(private readonly options: Options) {
    this.#say = texts[options.language];
  }

  async run(): Promise<number> {
    obeyStopSignals(
      this.#closing,
      () => {
        this.#note(this.#say.stopping);
      },
      () => this.#isServing,
    );
    try {
      const code = await this.#play();
      if (code !== 'serving') return code;
      return await new Promise<number>(() => undefined);
    } catch (error) {
      // A stop makes the present step fail; the stopping ends the process.
      if (this.#closing.hasBegun) return await new Promise<number>(() => undefined);
      return this.#excuse(error);
    } finally {
      if (!this.#isServing) await this.#closing.run();
    }
  }

  #excuse(error: unknown): number {
    if (error instanceof NoRedisServerError || error instanceof NoPostgresServerError) {
      this.#note(error.message);
    } else if (error instanceof RedisUnreachableError) {
      this.#note(this.#say.redisUnreachable(error.message));
    } else if (error instanceof DatabaseUnreachableError) {
      this.#note(this.#say.databaseUnreachable(error.message));
    } else if (error instanceof RecordingError) {
      this.#note(this.#say.cannotRecord(error.message));
      return CANNOT_CREATE;
    } else throw error;
    return UNAVAILABLE;
  }

  async #play(): Promise<number | 'serving'> {
    const { record } = this.options;
    if (record !== undefined) await this.#record(record);
    const redis = await openArenaServers(process.env);
    // The caretaker goes last: a second Ctrl-C may come while the keys are removed.
    const care = this.#care(redis);
    this.#closing.add(() => redis.close());
    this.#note(
      redis.operator === undefined
        ? this.#say.foreignRedis(redis.keyPrefix)
        : this.#say.privateRedis(redis.operator.port),
    );
    const { privatePort, schema } = redis.database;
    this.#note(
      privatePort === undefined
        ? this.#say.foreignDatabase(schema)
        : this.#say.privateDatabase(privatePort),
    );
    try {
      if (this.options.mode === 'tutorial') return await this.#tutorial(redis, care);
      if (this.options.web) await this.#openPage();
      const report = await this.#measure(redis, care);
      return this.#tell(report) ?? (await this.#serve(redis, care));
    } catch (error) {
      // An unreachable server of the user explains the failure better than the failure itself.
      if (!this.#closing.hasBegun) await redis.assertReachable();
      throw error;
    }
  }

  async #record(file: string): Promise<void> {
    const { ended } = await record(this.#steps, file);
    this.#closing.add(async () => {
      this.#steps.close();
      await ended;
    });
  }

  async #openPage(): Promise<void> {
    const { port, open } = this.options;
    const page = await openPage({
      // 0 is any port, as is the one behind the last.
      port: port === 0 ? 0 : (port + 1) % 65_536,
      steps: this.#steps,
      carryOut: async (command) => this.#carryOut(command),
    });
    this.#closing.add(() => page.close());
    print(this.#say.pageAt(page.url));
    if (open) openBrowser(page.url, process.env);
  }

  #care(redis: ArenaServers): Care {
    const caretaker = new Caretaker(fleetEnvironment(redis, 'off'));
    this.#closing.add(() => caretaker.dismiss());
    return {
      onFleet: (fleet) => {
        this.#closing.add(() => fleet.stop());
        process.on('exit', () => {
          fleet.killNow();
        });
      },
      onFrozen: (note) => {
        caretaker.tell(note);
      },
    };
  }

  async #measure(redis: ArenaServers, care: Care): Promise<Report> {
    const arena = new Arena(this.options, redis, this.#steps, care);
    this.#carryOut = (command) => {
      if (command.kind !== 'skip') throw new RefusedError('not-open', 'the shop is not open yet');
      arena.skip();
      return Promise.resolve({});
    };
    const [report] = await Promise.all([
      reportOf(this.#steps),
      new Terminal(this.#say).follow(this.#steps),
      arena.play(),
    ]);
    return report;
  }

  /** Prints the results; undefined if the demo then serves. */
  #tell(report: Report): number | undefined {
    const { mode, json } = this.options;
    if (json) print(reportJson(report, this.options));
    else if (report.loads.length > 0) print(reportText(report, this.options));
    if (mode === 'check') {
      (json ? this.#note : print)(checkText(report, this.options));
      return report.mismatches.length === 0 ? 0 : 1;
    }
    return json ? 0 : undefined;
  }

  async #tutorial(redis: ArenaServers, care: Care): Promise<number> {
    const environment = {
      ...fleetEnvironment(redis, 'off'),
      SECKILL_TUTORIAL: '1',
      SECKILL_STOCK_KEY: TUTORIAL.stockKey,
    };
    const fleet = await ClusterFleet.start({ size: 1, environment, onLine: print, ...care });
    this.#note(this.#say.tutorialLines);
    for (const lesson of LESSONS) {
      print(lessonHead(lesson, this.options.language));
      await tutorialSale(fleet, lesson.strategy);
      print(`${lessonFlaw(lesson, this.options.language)}\n`);
    }
    return 0;
  }

  async #serve(redis: ArenaServers, care: Care): Promise<'serving'> {
    const { port } = this.options;
    // The measurements leave their products, and the locks of the stages that got stuck.
    await redis.clear();
    const sale = await LiveSale.start(this.options, redis, this.#steps, {
      ...care,
      onReplaced: (pid) => {
        this.#note(this.#say.replaced(pid));
      },
    });
    this.#closing.add(() => {
      sale.stop();
    });
    this.#carryOut = (command) => sale.carryOut(command);
    if (port !== 0 && !sale.url.endsWith(`:${port}`)) this.#note(this.#say.portTaken(port));
    print(`\n${this.#say.serving(bannerFor(sale.url, sale.pids))}`);
    this.#isServing = true;
    return 'serving';
  }

  /** Texts that are not results go to stderr, so that you can pipe the results. */
  readonly #note = (line: string): void => {
    process.stderr.write(`${line}\n`);
  };
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Resolves with the exit code, or never: then the shop is open until a signal stops it. */
export function main(options: Options): Promise<number> {
  return new Demo(options).run();
}
