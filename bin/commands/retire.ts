/**
 * `mgw retire`: marks the objects of an uninstalled gateway in their statuses. The chart runs it after an uninstall.
 */
import { Command } from 'commander';
import { EXIT } from '../exit-codes.ts';
import { flag, paragraphs, parseNamespace, parseNamespaces } from '../options.ts';
import type { RetireFlags } from '../run/retire.ts';

export function retireCommand(ended: (exitCode: number) => void): Command {
  return new Command('retire')
    .summary("say in the statuses of an uninstalled gateway's objects that no gateway serves them")
    .description(
      paragraphs(
        'Statuses are written by the operator, so without one they would say for ever what was true last. This turns ' +
          "Ready and Programmed to Unknown, with the reason GatewayRemoved, for everything in the gateway's namespace " +
          'and for the ApiKeys and Accounts that name it. Specs, Secrets and spending stay as they are. An operator ' +
          'that is installed again corrects the statuses.',
        'Run it once no operator of the gateway runs any more. It lists the five kinds and patches their statuses.',
      ),
    )
    .requiredOption('--namespace <NAME>', 'namespace of the gateway', parseNamespace)
    .addOption(
      flag(
        '--watch-namespaces <NAMES>',
        "only ApiKeys and Accounts of these namespaces and the gateway's own, separated by commas (default: all)",
      ).argParser(parseNamespaces),
    )
    .addOption(
      flag(
        '--kubeconfig <FILE>',
        "how to reach the API server (default: the pod's ServiceAccount, or as kubectl does)",
      ),
    )
    .action(async (flags: RetireFlags) => {
      const { runRetire } = await import('../run/retire.ts');
      process.stdout.write(`${await runRetire(flags)}\n`);
      ended(EXIT.ok);
    });
}
