/** One machine for the console's browser tests: `mgw run` over a folder of manifests, with the demo provider. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startMgw, tempFolder } from '../../support/cli.ts';
import type { RunningCli } from '../../support/cli.ts';
import { platformManifests } from './console-scene.ts';

export interface Machine {
  /** The folder that has `manifests` and `data`. */
  readonly path: string;
  readonly consoleUrl: string;
  readonly sdkUrl: string;
  readonly adminToken: string;
  readonly programs: readonly RunningCli[];
  close(): Promise<void>;
}

interface Content {
  /** Manifests by team, in addition to those of the platform. */
  readonly teams: Readonly<Record<string, string>>;
  /** Additional manifests of the platform, for models at the demo provider's address. */
  readonly platform?: (demoUrl: string) => string;
  /** Fills the data folder before the gateway starts. */
  readonly fill?: (dataFolder: string) => Promise<void>;
  /** Further flags of `mgw run`. */
  readonly flags?: readonly string[];
}

export async function startMachine({ teams, platform, fill, flags = [] }: Content): Promise<Machine> {
  await using started = new AsyncDisposableStack();
  const { path } = started.use(await tempFolder());
  const demo = started.use(startMgw(['demo-provider', '--listen', '127.0.0.1:0']));
  const [, demoUrl = ''] = await demo.until(/the demo provider is listening on (\S+)/);
  await mkdir(join(path, 'manifests'));
  const files = { platform: platformManifests(demoUrl), ...(platform && { more: platform(demoUrl) }), ...teams };
  for (const [name, text] of Object.entries(files)) await writeFile(join(path, 'manifests', `${name}.yaml`), text);
  await mkdir(join(path, 'data'));
  await fill?.(join(path, 'data'));
  const gateway = started.use(
    startMgw(
      [
        'run',
        '--config',
        'manifests',
        '--data',
        'data',
        '--listen',
        '127.0.0.1:0',
        '--admin',
        '127.0.0.1:0',
        '--console',
        '127.0.0.1:0',
        '--hello',
        ...flags,
      ],
      { cwd: path },
    ),
  );
  const [, consoleUrl = '', tokenFile = ''] = await gateway.until(/Console +(http:\S+) .* in (\S+)\n/);
  const [, sdkUrl = ''] = await gateway.until(/Prices +(http:\S+)\/pricing/);
  const adminToken = (await readFile(join(path, tokenFile), 'utf8')).trim();
  const owned = started.move();
  return { path, consoleUrl, sdkUrl, adminToken, programs: [gateway, demo], close: () => owned.disposeAsync() };
}
