import com.anthropic.client.AnthropicClient;
import com.anthropic.client.okhttp.AnthropicOkHttpClient;
import com.anthropic.helpers.MessageAccumulator;
import com.anthropic.models.messages.MessageCountTokensParams;
import com.anthropic.models.messages.MessageCreateParams;
import com.anthropic.models.messages.batches.BatchCreateParams;
import com.anthropic.models.messages.batches.MessageBatch;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.genai.Client;
import com.google.genai.types.GenerateContentConfig;
import com.google.genai.types.HttpOptions;
import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.MultipartField;
import com.openai.helpers.ChatCompletionAccumulator;
import com.openai.models.audio.speech.SpeechCreateParams;
import com.openai.models.audio.transcriptions.TranscriptionCreateParams;
import com.openai.models.audio.translations.TranslationCreateParams;
import com.openai.models.batches.Batch;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.chat.completions.ChatCompletionStreamOptions;
import com.openai.models.completions.CompletionCreateParams;
import com.openai.models.embeddings.EmbeddingCreateParams;
import com.openai.models.files.FileCreateParams;
import com.openai.models.files.FilePurpose;
import com.openai.models.images.ImageCreateVariationParams;
import com.openai.models.images.ImageEditParams;
import com.openai.models.images.ImageGenerateParams;
import com.openai.models.moderations.ModerationCreateParams;
import com.openai.models.responses.Response;
import com.openai.models.responses.ResponseCreateParams;
import com.openai.models.responses.ResponseStatus;
import com.openai.models.videos.Video;
import com.openai.models.videos.VideoCreateParams;
import com.openai.models.videos.VideoSeconds;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** Calls every endpoint with the official Java SDKs. Prints one line of JSON for each call. */
public final class Endpoints {
  private static final String GPT = "gpt-4o-mini";
  private static final String CLAUDE = "claude-sonnet-4-6";
  private static final String HELLO = "Say hello.";
  private static final int TOKENS = 500;
  private static final ObjectMapper JSON = new ObjectMapper();

  private final byte[] picture;
  private final byte[] speech;
  private final OpenAIClient client;
  private final AnthropicClient anthropic;
  private final Client gemini;

  private interface Call {
    void run() throws Exception;
  }

  private Endpoints(Map<String, String> env) throws Exception {
    String url = env.get("MGW_URL");
    String key = env.get("MGW_KEY");
    picture = Files.readAllBytes(Path.of(env.get("MGW_PICTURE")));
    speech = Files.readAllBytes(Path.of(env.get("MGW_SPEECH")));
    client = OpenAIOkHttpClient.builder().apiKey(key).baseUrl(url + "/v1").build();
    anthropic = AnthropicOkHttpClient.builder().apiKey(key).baseUrl(url).build();
    gemini = Client.builder().apiKey(key).httpOptions(HttpOptions.builder().baseUrl(url).build()).build();
  }

  public static void main(String[] args) throws Exception {
    Endpoints endpoints = new Endpoints(System.getenv());
    for (Map.Entry<String, Call> each : endpoints.calls().entrySet()) {
      Map<String, String> line = new LinkedHashMap<>();
      line.put("call", each.getKey());
      try {
        each.getValue().run();
      } catch (Exception error) {
        line.put("error", error.toString());
      }
      System.out.println(JSON.writeValueAsString(line));
    }
    // threads of idle connections would keep the process running for a minute
    System.exit(0);
  }

  private Map<String, Call> calls() {
    Map<String, Call> calls = new LinkedHashMap<>();
    calls.put("models", this::models);
    calls.put("chat", this::chat);
    calls.put("chat stream", this::chatStream);
    calls.put("responses", this::responses);
    calls.put("responses stream", this::responsesStream);
    calls.put("responses continued", this::continued);
    calls.put("conversations", this::conversations);
    calls.put("completions", this::completions);
    calls.put("embeddings", this::embeddings);
    calls.put("moderations", this::moderations);
    calls.put("images", this::images);
    calls.put("images stream", this::imagesStream);
    calls.put("image edits", this::imageEdits);
    calls.put("image variations", this::imageVariations);
    calls.put("speech", this::speak);
    calls.put("transcriptions", this::transcriptions);
    calls.put("translations", this::translations);
    calls.put("videos", this::videos);
    calls.put("batches", this::batches);
    calls.put("messages", this::messages);
    calls.put("messages stream", this::messagesStream);
    calls.put("count tokens", this::countTokens);
    calls.put("message batches", this::messageBatches);
    calls.put("generateContent", this::generateContent);
    calls.put("generateContent stream", this::generateContentStream);
    calls.put("embedContent", this::embedContent);
    return calls;
  }

  private static void expect(boolean holds, Object value) {
    if (!holds) throw new IllegalStateException("unexpected: " + value);
  }

  /** Reads a value every 100 ms until it is done. */
  private static <T> T until(Callable<T> read, Predicate<T> done) throws Exception {
    for (int i = 0; i < 200; i++) {
      T value = read.call();
      if (done.test(value)) return value;
      Thread.sleep(100);
    }
    throw new IllegalStateException("not done in time");
  }

  private void models() {
    expect(client.models().list().data().stream().anyMatch(model -> model.id().equals(GPT)), GPT);
  }

  private static ChatCompletionCreateParams.Builder chatParams() {
    return ChatCompletionCreateParams.builder().model(GPT).maxTokens(TOKENS).addUserMessage(HELLO);
  }

  private void chat() {
    var made = client.chat().completions().create(chatParams().build());
    expect(!made.choices().get(0).message().content().get().isEmpty(), made);
    expect(made.usage().get().totalTokens() > 0, made);
  }

  private void chatStream() {
    var params = chatParams().streamOptions(ChatCompletionStreamOptions.builder().includeUsage(true).build());
    var whole = ChatCompletionAccumulator.create();
    try (var stream = client.chat().completions().createStreaming(params.build())) {
      stream.stream().forEach(whole::accumulate);
    }
    var made = whole.chatCompletion();
    expect(!made.choices().get(0).message().content().get().isEmpty(), made);
    expect(made.usage().get().totalTokens() > 0, made);
  }

  private static ResponseCreateParams.Builder responseParams(String model, String input) {
    return ResponseCreateParams.builder().model(model).maxOutputTokens(TOKENS).input(input);
  }

  private static String textOf(Response response) {
    return response.output().stream()
        .flatMap(item -> item.message().stream())
        .flatMap(message -> message.content().stream())
        .flatMap(content -> content.outputText().stream())
        .map(text -> text.text())
        .collect(Collectors.joining());
  }

  private void responses() {
    Response made = client.responses().create(responseParams(GPT, HELLO).build());
    expect(!textOf(made).isEmpty() && made.status().get().equals(ResponseStatus.COMPLETED), made);
  }

  private void responsesStream() {
    try (var stream = client.responses().createStreaming(responseParams(GPT, HELLO).build())) {
      var events = stream.stream().toList();
      expect(events.get(0).isCreated() && events.get(events.size() - 1).isCompleted(), events);
    }
  }

  private void conversations() {
    var made = client.conversations().create();
    Response said = client.responses().create(responseParams(CLAUDE, HELLO).conversation(made.id()).build());
    expect(!textOf(said).isEmpty(), said);
    expect(client.conversations().items().list(made.id()).items().size() == 2, made);
    expect(client.conversations().delete(made.id()).deleted(), made);
  }

  private void continued() {
    Response first = client.responses().create(responseParams(CLAUDE, HELLO).build());
    Response second =
        client.responses().create(responseParams(CLAUDE, "Again.").previousResponseId(first.id()).build());
    expect(!textOf(second).isEmpty() && second.previousResponseId().get().equals(first.id()), second);
    expect(textOf(client.responses().retrieve(first.id())).equals(textOf(first)), first);
    client.responses().delete(first.id());
    client.responses().delete(second.id());
  }

  private void completions() {
    var params = CompletionCreateParams.builder().model(GPT).maxTokens(TOKENS).prompt(HELLO).build();
    var made = client.completions().create(params);
    expect(!made.choices().get(0).text().isEmpty(), made);
  }

  private void embeddings() {
    var params =
        EmbeddingCreateParams.builder()
            .model("text-embedding-3-small")
            .inputOfArrayOfStrings(List.of("one", "two"))
            .build();
    var made = client.embeddings().create(params);
    expect(made.data().size() == 2 && !made.data().get(0).embedding().isEmpty(), made);
  }

  private void moderations() {
    var params = ModerationCreateParams.builder().model("omni-moderation-latest").input(HELLO).build();
    expect(client.moderations().create(params).results().size() == 1, params);
  }

  private void images() {
    var params = ImageGenerateParams.builder().model("gpt-image-1").prompt("a cat").build();
    expect(client.images().generate(params).data().get().size() == 1, params);
  }

  private void imagesStream() {
    var params = ImageGenerateParams.builder().model("gpt-image-1").prompt("a cat").partialImages(1).build();
    try (var stream = client.images().generateStreaming(params)) {
      var events = stream.stream().toList();
      expect(events.size() == 2 && events.get(0).isGenerationPartialImage(), events);
      expect(events.get(1).isGenerationCompleted(), events);
    }
  }

  private void imageVariations() {
    var file =
        MultipartField.<InputStream>builder()
            .value(new ByteArrayInputStream(picture))
            .filename("cat.png")
            .contentType("image/png")
            .build();
    var params = ImageCreateVariationParams.builder().model("gpt-image-1").image(file).build();
    expect(client.images().createVariation(params).data().get().size() == 1, params);
  }

  private void imageEdits() {
    var file =
        MultipartField.<ImageEditParams.Image>builder()
            .value(ImageEditParams.Image.ofInputStream(new ByteArrayInputStream(picture)))
            .filename("cat.png")
            .contentType("image/png")
            .build();
    var params = ImageEditParams.builder().model("gpt-image-1").image(file).prompt("a hat").build();
    expect(client.images().edit(params).data().get().size() == 1, params);
  }

  private void speak() throws Exception {
    var params =
        SpeechCreateParams.builder()
            .model("tts-1")
            .voice("alloy")
            .input(HELLO)
            .responseFormat(SpeechCreateParams.ResponseFormat.WAV)
            .build();
    try (var made = client.audio().speech().create(params)) {
      byte[] sound = made.body().readAllBytes();
      expect(new String(sound, 0, 4, StandardCharsets.ISO_8859_1).equals("RIFF"), sound.length);
    }
  }

  private MultipartField<InputStream> speechFile() {
    return MultipartField.<InputStream>builder()
        .value(new ByteArrayInputStream(speech))
        .filename("speech.wav")
        .contentType("audio/wav")
        .build();
  }

  private void transcriptions() {
    var params = TranscriptionCreateParams.builder().model("whisper-1").file(speechFile()).build();
    var made = client.audio().transcriptions().create(params);
    expect(!made.asTranscription().text().isEmpty(), made);
  }

  private void translations() {
    var params = TranslationCreateParams.builder().model("whisper-1").file(speechFile()).build();
    var made = client.audio().translations().create(params);
    expect(!made.asTranslation().text().isEmpty(), made);
  }

  private void videos() throws Exception {
    var params = VideoCreateParams.builder().model("sora-2").prompt("a cat").seconds(VideoSeconds._4).build();
    Video made = client.videos().create(params);
    until(() -> client.videos().retrieve(made.id()), video -> video.status().equals(Video.Status.COMPLETED));
    try (var content = client.videos().downloadContent(made.id())) {
      expect(content.body().readAllBytes().length > 0, made);
    }
  }

  private void batches() throws Exception {
    Map<String, Object> message = Map.of("role", "user", "content", HELLO);
    Map<String, Object> body = Map.of("model", GPT, "max_tokens", TOKENS, "messages", List.of(message));
    byte[] line =
        JSON.writeValueAsBytes(
            Map.of("custom_id", "a", "method", "POST", "url", "/v1/chat/completions", "body", body));
    var upload =
        MultipartField.<InputStream>builder()
            .value(new ByteArrayInputStream(line))
            .filename("batch.jsonl")
            .contentType("application/jsonl")
            .build();
    var file = client.files().create(FileCreateParams.builder().file(upload).purpose(FilePurpose.BATCH).build());
    var params =
        com.openai.models.batches.BatchCreateParams.builder()
            .inputFileId(file.id())
            .endpoint(com.openai.models.batches.BatchCreateParams.Endpoint.V1_CHAT_COMPLETIONS)
            .completionWindow(com.openai.models.batches.BatchCreateParams.CompletionWindow._24H)
            .build();
    Batch made = client.batches().create(params);
    Batch ended =
        until(() -> client.batches().retrieve(made.id()), batch -> batch.status().equals(Batch.Status.COMPLETED));
    try (var content = client.files().content(ended.outputFileId().get())) {
      var result = JSON.readTree(new String(content.body().readAllBytes(), StandardCharsets.UTF_8).split("\n")[0]);
      expect(result.get("custom_id").asText().equals("a"), result);
      expect(result.get("response").get("status_code").asInt() == 200, result);
    }
    expect(client.files().delete(file.id()).deleted(), file);
  }

  private static MessageCreateParams messageParams() {
    return MessageCreateParams.builder().model(CLAUDE).maxTokens(TOKENS).addUserMessage(HELLO).build();
  }

  private void messages() {
    var made = anthropic.messages().create(messageParams());
    expect(!made.content().get(0).asText().text().isEmpty() && made.usage().outputTokens() > 0, made);
  }

  private void messagesStream() {
    var whole = MessageAccumulator.create();
    try (var stream = anthropic.messages().createStreaming(messageParams())) {
      stream.stream().forEach(whole::accumulate);
    }
    var made = whole.message();
    expect(!made.content().get(0).asText().text().isEmpty() && made.usage().outputTokens() > 0, made);
  }

  private void countTokens() {
    var params = MessageCountTokensParams.builder().model(CLAUDE).addUserMessage(HELLO).build();
    expect(anthropic.messages().countTokens(params).inputTokens() > 0, params);
  }

  private void messageBatches() throws Exception {
    var request =
        BatchCreateParams.Request.builder()
            .customId("a")
            .params(
                BatchCreateParams.Request.Params.builder()
                    .model(CLAUDE)
                    .maxTokens(TOKENS)
                    .addUserMessage(HELLO)
                    .build())
            .build();
    var batches = anthropic.messages().batches();
    MessageBatch made = batches.create(BatchCreateParams.builder().addRequest(request).build());
    until(
        () -> batches.retrieve(made.id()),
        batch -> batch.processingStatus().equals(MessageBatch.ProcessingStatus.ENDED));
    try (var results = batches.resultsStreaming(made.id())) {
      var succeeded = results.stream().map(each -> each.result().isSucceeded()).toList();
      expect(succeeded.equals(List.of(true)), succeeded);
    }
  }

  private static GenerateContentConfig contentConfig() {
    return GenerateContentConfig.builder().maxOutputTokens(TOKENS).build();
  }

  private void generateContent() {
    var made = gemini.models.generateContent(GPT, HELLO, contentConfig());
    expect(!made.text().isEmpty() && made.usageMetadata().get().totalTokenCount().get() > 0, made);
  }

  private void generateContentStream() {
    StringBuilder text = new StringBuilder();
    try (var stream = gemini.models.generateContentStream(CLAUDE, HELLO, contentConfig())) {
      for (var chunk : stream) if (chunk.text() != null) text.append(chunk.text());
    }
    expect(text.length() > 0, "no text");
  }

  private void embedContent() {
    var made = gemini.models.embedContent("text-embedding-3-small", List.of("one", "two"), null);
    expect(made.embeddings().get().size() == 2, made);
  }
}
