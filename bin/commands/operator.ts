/** `mgw operator`: runs the control plane of a cluster. */
import { Command } from 'commander';
import type { OperatorFlags } from '../run/operator.ts';
import {
  flag,
  logLevelFlag,
  paragraphs,
  parseAddress,
  parseBytes,
  parseConsoleUrl,
  parseLabelNames,
  parseLedger,
  parseNamespace,
  parseNamespaces,
  parseOrigin,
  parseServiceAccounts,
  trustedProxiesFlag,
} from '../options.ts';

export function operatorCommand(ended: (exitCode: number) => void): Command {
  return new Command('operator')
    .summary('the control plane of a cluster: Kubernetes objects in, configuration for the proxies out')
    .description(
      paragraphs(
        'Reads Accounts, ApiKeys, Groups, ModelRoutes and PriceCatalogs from a Kubernetes API server, gives them to ' +
          "the proxies (mgw dataplane) over xDS, makes keys, and says in each object's status whether the proxies " +
          'have it.',
        'Any number of replicas may run: all of them serve the proxies, one of them writes. SIGTERM hands the lead ' +
          'over at once; the proxies go on with what they have.',
        'Every flag may be given as the environment variable that stands beside it. docs/guides/kubernetes.md has the ' +
          'manifests and the rights that it needs.',
      ),
    )
    .addOption(
      flag(
        '--kubeconfig <FILE>',
        "how to reach the API server (default: the pod's ServiceAccount, or as kubectl does)",
      ),
    )
    .addOption(
      flag('--namespace <NAME>', "namespace of the gateway (default: the pod's own, or model-gateway)").argParser(
        parseNamespace,
      ),
    )
    .addOption(
      flag(
        '--watch-namespaces <NAMES>',
        "only these namespaces and the gateway's own, separated by commas (default: all)",
      ).argParser(parseNamespaces),
    )
    .addOption(
      flag(
        '--usage-labels <NAMES>',
        'labels that usage records carry, separated by commas: of the namespace, else of the ApiKey (default: none)',
      ).argParser(parseLabelNames),
    )
    .addOption(
      flag(
        '--namespace-memory <BYTES>',
        "how much the objects of one namespace may take, such as 25MiB; those of the gateway's own may take any amount " +
          '(default: a tenth of the heap)',
      ).argParser(parseBytes),
    )
    .addOption(
      flag('--xds-listen <ADDRESS>', 'where proxies connect')
        .default({ host: '0.0.0.0', port: 18_000 }, ':18000')
        .argParser(parseAddress),
    )
    .addOption(
      flag(
        '--xds-name <NAME>',
        'the DNS name by which proxies know it, which its certificate is made for ' +
          '(default: model-gateway-operator.NAMESPACE.svc)',
      ),
    )
    .addOption(flag('--insecure-xds', 'neither TLS nor tokens, for one machine; only on a loopback address'))
    .addOption(
      flag('--token-file <FILE>', 'the token with which a replica shows itself to the leader').default(
        '/var/run/secrets/modelgateway.dev/xds/token',
      ),
    )
    .addOption(
      flag(
        '--xds-proxies <NAMES>',
        "ServiceAccounts of the gateway's namespace, separated by commas, that " +
          "may take the configuration; it holds providers' credentials",
      )
        .default(['model-gateway-dataplane'], 'model-gateway-dataplane')
        .argParser(parseServiceAccounts),
    )
    .addOption(
      flag('--xds-operators <NAMES>', "ServiceAccounts of the gateway's namespace that other replicas run as")
        .default(['model-gateway-operator'], 'model-gateway-operator')
        .argParser(parseServiceAccounts),
    )
    .addOption(
      flag(
        '--proxies-service <NAME>',
        "the Service of the gateway's namespace that selects the pods of all proxies: statuses then name those that are " +
          'ready but not connected (default: only connected ones count)',
      ),
    )
    .addOption(
      flag('--advertise <HOST:PORT>', "where other replicas reach this one's --xds-listen; needed with more than one"),
    )
    .addOption(
      flag('--admin <ADDRESS>', 'where healthz, readyz, metrics and config_dump are; keep it private')
        .default({ host: '127.0.0.1', port: 9090 }, '127.0.0.1:9090')
        .argParser(parseAddress),
    )
    .addOption(
      flag(
        '--ledger <URL>',
        "the fleet's ledger, valkey://HOST:PORT, for what statuses say of spending " +
          '(default: they say nothing of it)',
      ).argParser(parseLedger),
    )
    .addOption(
      flag('--lease-name <NAME>', 'the Lease by which replicas elect a leader').default('model-gateway-operator'),
    )
    .addOption(
      flag(
        '--identity <NAME>',
        "what this replica calls itself in the Lease (default: the host's name and a random part)",
      ),
    )
    .addOption(
      flag(
        '--envoy-xds-listen <ADDRESS>',
        'where Envoys that stand before the fleet take their configuration (default: nowhere); docs/guides/envoy.md',
      ).argParser(parseAddress),
    )
    .addOption(
      flag(
        '--edge-service <NAME>',
        'the Service whose endpoints Envoys send calls to; its port admin, if it has one, is asked for readyz',
      ).default('model-gateway'),
    )
    .addOption(
      flag('--edge-listen <ADDRESS>', 'where Envoys listen for SDKs')
        .default({ host: '0.0.0.0', port: 8080 }, ':8080')
        .argParser(parseAddress),
    )
    .addOption(
      flag('--edge-tls <DIR>', "a folder on Envoy's machine with tls.crt and tls.key, for SDKs (default: plaintext)"),
    )
    .addOption(
      flag(
        '--webhook-listen <ADDRESS>',
        'where the API server asks about pods that want a sidecar (default: nowhere); docs/guides/sidecar.md',
      ).argParser(parseAddress),
    )
    .addOption(
      flag(
        '--webhook-name <NAME>',
        'the DNS name by which the API server knows it (default: model-gateway-webhook.NAMESPACE.svc)',
      ),
    )
    .addOption(
      flag(
        '--webhook-configuration <NAME>',
        'the MutatingWebhookConfiguration whose caBundle is kept right (default: model-gateway-sidecar.NAMESPACE)',
      ),
    )
    .addOption(
      flag(
        '--sidecar-settings <JSON>',
        'what all sidecars have: {"image": …, "imagePullPolicy", "fleet", ' +
          '"logLevel", "ipv6", "resources", "securityContext", "env"}; only the image is needed',
      ),
    )
    .addOption(
      flag(
        '--console <ADDRESS>',
        'where people see and change their keys in a browser (default: nowhere); docs/guides/console.md',
      ).argParser(parseAddress),
    )
    .addOption(
      flag(
        '--console-proxy-header <NAME>',
        "the header in which an authenticating proxy before the console hands on each person's token (default: " +
          'people sign in with a token)',
      ).choices(['authorization', 'x-forwarded-access-token']),
    )
    .addOption(trustedProxiesFlag())
    .addOption(
      flag(
        '--console-tls <DIR>',
        'a folder with tls.crt and tls.key for the console (default: plain HTTP, behind whatever ends TLS)',
      ),
    )
    .addOption(
      flag(
        '--console-data <DIR>',
        "a folder for the console's copy of usage records, which then survives " +
          'a restart (default: a temporary file)',
      ),
    )
    .addOption(
      flag(
        '--console-url <URL>',
        'where people open the console; only a path counts, below which it then is',
      ).argParser(parseConsoleUrl),
    )
    .addOption(
      flag('--console-gateway-url <URL>', 'where SDKs call, for what the console tells people').argParser(parseOrigin),
    )
    .addOption(logLevelFlag())
    .action(async (flags: OperatorFlags) => {
      const { runOperator } = await import('../run/operator.ts');
      ended(await runOperator(flags));
    });
}
