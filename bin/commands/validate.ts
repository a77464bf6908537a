/** `mgw validate`: lists the errors that an API server and an operator would report on a folder, for pull requests. */
import { Command } from 'commander';
import type { Diagnostic } from '#manifests/diagnostic.ts';
import { EXIT } from '../exit-codes.ts';
import { flag, gatewayNamespaceFlag, paragraphs } from '../options.ts';
import { assertFolder } from '../run/data-folder.ts';

interface ValidateFlags {
  readonly gatewayNamespace: string;
  readonly prices?: boolean;
}

export function validateCommand(ended: (exitCode: number) => void): Command {
  return new Command('validate')
    .summary('check a folder of manifests')
    .description(
      paragraphs(
        'Lists the errors that the API server and the operator would report for the manifests in DIR, with ' +
          'file and line: unknown fields, invalid values, duplicates, missing references, conflicts, wrong ' +
          'namespaces.',
        'Exits with 1 on any error. Warnings, such as a Secret that is not in the folder, do not change the ' +
          'exit code.',
      ),
    )
    .argument('<DIR>', 'folder of manifests (*.yaml, *.yml, at any depth)')
    .addOption(gatewayNamespaceFlag())
    .addOption(
      flag('--prices', 'also list, for each chat model of a route, the calls that are refused for lack of a price'),
    )
    .action(async (folder: string, flags: ValidateFlags) => {
      assertFolder('DIR', folder);
      const [{ formatDiagnostic }, { findUnpricedWays, validateFolder }] = await Promise.all([
        import('#manifests/diagnostic.ts'),
        import('../../operator/reconcile/validate-folder.ts'),
      ]);
      const problems = await validateFolder(folder, { gatewayNamespace: flags.gatewayNamespace, nowMs: Date.now() });
      for (const problem of problems) process.stdout.write(`${formatDiagnostic(problem)}\n`);
      if (flags.prices === true) {
        for (const { route, model, ways } of await findUnpricedWays(folder, flags))
          process.stdout.write(`ModelRoute ${route}: "${model}" has no price for ${ways.join(', ')}\n`);
      }
      process.stdout.write(`${summary(folder, problems)}\n`);
      ended(problems.some(({ severity }) => severity === 'Error') ? EXIT.failed : EXIT.ok);
    });
}

function summary(folder: string, problems: readonly Diagnostic[]): string {
  const count = (severity: Diagnostic['severity'], word: string): string => {
    const number = problems.filter((each) => each.severity === severity).length;
    return number === 0 ? `no ${word}s` : `${number} ${word}${number === 1 ? '' : 's'}`;
  };
  return `${folder}: ${count('Error', 'error')}, ${count('Warning', 'warning')}`;
}
