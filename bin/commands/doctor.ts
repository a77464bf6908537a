/** `mgw doctor`: asks each channel of a configuration whether it serves, and says what is wrong. */
import { createInterface } from 'node:readline/promises';
import { Command } from 'commander';
import { DEFAULT_GATEWAY_NAMESPACE } from '../defaults.ts';
import { CommandFailed, EXIT } from '../exit-codes.ts';
import { flag, paragraphs, parseNamespace } from '../options.ts';
import { assertFolder } from '../run/data-folder.ts';

interface DoctorFlags {
  readonly config: string;
  readonly gatewayNamespace: string;
  readonly only?: string;
  readonly allModels?: boolean;
  readonly json?: boolean;
  readonly yes?: boolean;
}

export function doctorCommand(ended: (exitCode: number) => void): Command {
  return new Command('doctor')
    .summary('ask each provider whether its channel is right')
    .description(paragraphs(
      'Asks each channel of the manifests in DIR for a count of tokens, or where the provider has none for one ' +
        'token, and says what is wrong with credential, address, model, region or beta flags.',
      'Signs in as the gateway would: run it where the gateway runs, if channels sign in by the pod\'s identity.',
      'Says before what it costs, and asks; --yes answers. Exits with 1 where a channel is wrong.',
    ))
    .addOption(flag('--config <DIR>', 'folder of manifests, with their Secrets').makeOptionMandatory())
    .addOption(flag('--gateway-namespace <NAME>', 'namespace of the gateway, and of objects that name none')
      .default(DEFAULT_GATEWAY_NAMESPACE).argParser(parseNamespace))
    .addOption(flag('--only <ROUTE>', 'one route, or one channel as route/channel'))
    .addOption(flag('--all-models', 'each model of a channel, not only the first'))
    .addOption(flag('--json', 'print JSON instead of a table'))
    .addOption(flag('--yes', 'do not ask before calls that cost something'))
    .action(async (flags: DoctorFlags) => {
      assertFolder('--config', flags.config);
      ended(await examine(flags) ? EXIT.ok : EXIT.failed);
    });
}

/** Whether all is well. */
async function examine(
  { config, gatewayNamespace, only, allModels = false, json, yes }: DoctorFlags,
): Promise<boolean> {
  const [{ readSnapshot }, { planProbes }, { askChannel }, report, { createUpstreams }] = await Promise.all([
    import('../../operator/reconcile/validate-folder.ts'), import('../doctor/plan.ts'), import('../doctor/probe.ts'),
    import('../doctor/report.ts'), import('../../dataplane/upstream/client.ts'),
  ]);
  const { snapshot, unresolved } = await readSnapshot(config, { gatewayNamespace });
  const plan = planProbes(snapshot, { only, allModels });
  process.stderr.write(`${report.describeCosts(plan)}\n`);
  if (yes !== true && plan.probes.length > 0) await confirm();
  const upstreams = createUpstreams({
    identity: { env: process.env, nowMs: () => Date.now(), random: () => Math.random() },
  });
  const outcomes = [];
  for (const probe of plan.probes) outcomes.push(await askChannel(upstreams, probe));
  await upstreams.close();
  const write = json === true ? report.writeReport : report.writeTable;
  process.stdout.write(`${write(outcomes, unresolved)}\n`);
  return !report.hasFaults(outcomes, unresolved);
}

/** Throws CommandFailed where nobody agrees. */
async function confirm(): Promise<void> {
  if (!process.stdin.isTTY) throw new CommandFailed('Nobody can be asked here: --yes agrees to these costs.');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question('Go on? [y/N] ').finally(() => terminal.close());
  if (!/^y(?:es)?$/i.test(answer.trim())) throw new CommandFailed('Nothing was asked.');
}
