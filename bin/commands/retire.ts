/**
 * `mgw retire`: marks the objects of an uninstalled gateway in their statuses. The chart runs it after an uninstall.
 */
import { Command } from 'commander';
import { EXIT } from '../exit-codes.ts';
import { flag, kubeconfigFlag, paragraphs, parseNamespace, parseNamespaces } from '../options.ts';
import type { RetireFlags } from '../run/retire.ts';

export function retireCommand(ended: (exitCode: number) => void): Command {
  return new Command('retire')
    .summary('mark the objects of an uninstalled gateway in their statuses')
    .description(
      paragraphs(
        'Without an operator, statuses keep their last values. This command sets Ready and Programmed to ' +
          'Unknown, with the reason GatewayRemoved, on all objects in the namespace of the gateway and on the ' +
          'ApiKeys and Accounts that refer to it. It does not change specs, Secrets or spending. A new operator ' +
          'corrects the statuses.',
        'Run it after the last operator of the gateway has stopped. It lists the five kinds and patches their ' +
          'statuses.',
      ),
    )
    .requiredOption('--namespace <NAME>', 'namespace of the gateway', parseNamespace)
    .addOption(
      flag(
        '--watch-namespaces <NAMES>',
        'comma-separated namespaces of ApiKeys and Accounts to mark, besides the namespace of the gateway ' +
          '(default: all)',
      ).argParser(parseNamespaces),
    )
    .addOption(kubeconfigFlag())
    .action(async (flags: RetireFlags) => {
      const { runRetire } = await import('../run/retire.ts');
      process.stdout.write(`${await runRetire(flags)}\n`);
      ended(EXIT.ok);
    });
}
