/** `mgw doctor`: asks each channel of a configuration whether it serves, and says what is wrong. */
import { createInterface } from 'node:readline/promises';
import { Command } from 'commander';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import { CommandFailed, EXIT } from '../exit-codes.ts';
import { flag, gatewayNamespaceFlag, paragraphs, parseLedger } from '../options.ts';
import type { LedgerLocation } from '../../programs/ledger-location.ts';
import { assertFolder } from '../run/data-folder.ts';
import { explainStart } from '../run/start-errors.ts';
import { addXdsFlags, checkXdsFlags, securityOf } from '../xds-flags.ts';
import type { XdsFlags } from '../xds-flags.ts';

interface DoctorFlags extends Omit<XdsFlags, 'xds'> {
  readonly xds?: readonly string[];
  readonly config?: string;
  readonly gatewayNamespace: string;
  readonly ledger?: LedgerLocation;
  readonly only?: string;
  readonly allModels?: boolean;
  readonly json?: boolean;
  readonly yes?: boolean;
}

/** How long a shared ledger may take to be reached. */
const STORE_TIMEOUT_MS = 5_000;

export function doctorCommand(ended: (exitCode: number) => void): Command {
  const command = new Command('doctor')
    .summary('test the channels of a configuration')
    .description(
      paragraphs(
        'Sends each channel a request to count tokens, or a call with one token of output if the provider ' +
          'cannot count, and reports problems with credential, address, model, region or beta flags.',
        'The channels come from the manifests in DIR or from an operator. The command signs in to providers as ' +
          'the gateway does: run it where the gateway runs if channels use the identity of the pod. In a proxy ' +
          'pod of the chart, it finds the operator by itself.',
        'Shows what the calls cost and asks for confirmation; --yes skips the question. Exits with 1 if a ' +
          'channel has a problem.',
      ),
    )
    .addOption(flag('--config <DIR>', 'folder of manifests, including Secrets'));
  return addXdsFlags(command, { mandatory: false })
    .addOption(gatewayNamespaceFlag())
    .addOption(flag('--ledger <URL>', 'shared ledger to test as well: valkey://HOST:PORT').argParser(parseLedger))
    .addOption(flag('--only <ROUTE>', 'test one route only, or one channel as route/channel'))
    .addOption(flag('--all-models', 'test each model of a channel, not only the first'))
    .addOption(flag('--json', 'print JSON instead of a table'))
    .addOption(flag('--yes', 'skip the confirmation of calls that cost money'))
    .action(async (flags: DoctorFlags) => {
      ended((await diagnoseAll(flags)) ? EXIT.ok : EXIT.failed);
    });
}

/** Whether all is well. */
async function diagnoseAll(flags: DoctorFlags): Promise<boolean> {
  const { ledger, only, allModels = false, json, yes } = flags;
  const [{ planProbes }, { examine }, report] = await Promise.all([
    import('../doctor/plan.ts'),
    import('../doctor/examine.ts'),
    import('../doctor/report.ts'),
  ]);
  const { snapshot, unresolved } = await readConfiguration(flags);
  const plan = planProbes(snapshot, { only, allModels });
  process.stderr.write(`${report.describeCosts(plan)}\n`);
  if (yes !== true && plan.probes.length > 0) await confirm();
  const outcomes = await examine(plan).catch((error: unknown) => {
    throw explainStart(error, []);
  });
  const faults = [...unresolved, ...(await examineLedger(ledger))];
  const write = json === true ? report.writeReport : report.writeTable;
  process.stdout.write(`${write(outcomes, faults)}\n`);
  return !report.hasFaults(outcomes, faults);
}

async function examineLedger(ledger: LedgerLocation | undefined): Promise<readonly string[]> {
  if (ledger === undefined) return [];
  if (ledger.kind !== 'valkey') return ['Only a shared ledger can be tested: pass --ledger valkey://HOST:PORT.'];
  const { examineStore } = await import('../../dataplane/ledger/valkey/eviction.ts');
  const fault = await examineStore(ledger.url, STORE_TIMEOUT_MS);
  return fault === undefined ? [] : [fault];
}

/** `unresolved`: what is wrong with channels that the configuration leaves out; an operator says it in statuses. */
async function readConfiguration({ config, gatewayNamespace, ...flags }: DoctorFlags): Promise<{
  readonly snapshot: Pick<Snapshot, 'routes'>;
  readonly unresolved: readonly string[];
}> {
  if (config !== undefined) {
    assertFolder('--config', config);
    const { readSnapshot } = await import('../../operator/reconcile/validate-folder.ts');
    return readSnapshot(config, { gatewayNamespace });
  }
  const { xds } = flags;
  if (xds === undefined)
    throw new CommandFailed('No channels: pass --config DIR, or --xds HOST:PORT of an operator.', EXIT.usage);
  await checkXdsFlags({ ...flags, xds });
  const { readFromOperator } = await import('../doctor/read-from-operator.ts');
  const secure = securityOf({ ...flags, xds });
  return { snapshot: await readFromOperator({ addresses: xds, secure }), unresolved: [] };
}

/** Throws CommandFailed where nobody agrees. */
async function confirm(): Promise<void> {
  if (!process.stdin.isTTY)
    throw new CommandFailed('Standard input is not a terminal: pass --yes to accept these costs.');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question('Continue? [y/N] ').finally(() => terminal.close());
  if (!/^y(?:es)?$/i.test(answer.trim())) throw new CommandFailed('Cancelled. No call was sent.');
}
