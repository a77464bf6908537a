/** What `mgw run` does before it is ready, step by step in a process of its own; tells what each took of a core. The ledger is a new one. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cacheCompiledModules } from '../../bin/compile-cache.js';
import { resolveSourcesFast } from '../../bin/resolve-sources.js';

/** One step of a start. */
export interface Stage {
  readonly name: string;
  /** CPU time of all threads, which others on the same core do not change much. */
  readonly cpuMs: number;
}

const GATEWAY_NAMESPACE = 'model-gateway';

async function main(config: string, data: string): Promise<void> {
  const stages: Stage[] = [{ name: 'node', cpuMs: cpuMs() }];
  async function timed<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    const beganMs = cpuMs();
    const result = await work();
    stages.push({ name, cpuMs: cpuMs() - beganMs });
    return result;
  }

  const modules = await timed('modules', loadModules);
  const folder = mkdtempSync(join(tmpdir(), 'mgw-startup-ledger-'));
  const ledger = await timed('open the ledger', () => modules.embedded.openEmbeddedLedger({ path: join(folder, 'ledger.db') }));
  const kinds = await timed('read the API\'s schemas', modules.crds.loadApiKinds);
  const load = modules.loader.createLoader({ kinds, defaultNamespace: GATEWAY_NAMESPACE }, modules.generations.countGenerations(Date.now()));
  const { files } = await timed('read manifests', () => modules.provider.readFolder(config));
  const { resources, problems } = await timed('parse and admit', () => load(files));
  if (problems.length > 0) throw new Error(problems[0]?.message);
  const minted = await timed('read generated keys', () => modules.minted.openMintedSecrets(data));
  const { snapshot, statuses } = await timed('translate', () => modules.translate.translate(modules.resources.withSecrets(resources, minted.secrets), { gatewayNamespace: GATEWAY_NAMESPACE, nowMs: Date.now() }));
  await timed('status book', () => modules.book.openStatusBook().observe(statuses, Date.now()));
  await timed('validate', () => modules.validate.validateSnapshot(snapshot));
  await timed('compile', () => modules.compile.compile(snapshot));
  await ledger.close();
  rmSync(folder, { recursive: true });
  process.stdout.write(JSON.stringify(stages));
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** All that `run` has, before the parts that are measured. */
async function loadModules() {
  await import('../../bin/run/run.ts');
  const [embedded, crds, loader, generations, provider] = await Promise.all([
    import('../../dataplane/ledger/embedded.ts'), import('#crds/load.ts'), import('../../operator/files/load-folder.ts'),
    import('../../operator/files/generations.ts'), import('../../operator/files/provider.ts'),
  ]);
  const [minted, translate, resources, book, validate, compile] = await Promise.all([
    import('../../operator/reconcile/minted-secrets.ts'), import('../../operator/translate/translate.ts'), import('../../operator/store/resources.ts'),
    import('../../operator/reconcile/status-book.ts'), import('#snapshot/validate.ts'), import('../../dataplane/state/compile.ts'),
  ]);
  return { embedded, crds, loader, generations, provider, minted, translate, resources, book, validate, compile };
}

cacheCompiledModules();
resolveSourcesFast();
const [config = '', data = ''] = process.argv.slice(2);
await main(config, data);
