// Command endpoints calls every endpoint with the official Go SDKs and prints one line of JSON for each call.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/conversations"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"google.golang.org/genai"
)

const (
	gpt    = "gpt-4o-mini"
	claude = "claude-sonnet-4-6"
	hello  = "Say hello."
	tokens = 500
)

var (
	ctx             = context.Background()
	client          openai.Client
	anthropicClient anthropic.Client
	geminiClient    *genai.Client
	picture, speech []byte
)

func main() {
	url, key := os.Getenv("MGW_URL"), os.Getenv("MGW_KEY")
	picture, speech = must(os.ReadFile(os.Getenv("MGW_PICTURE"))), must(os.ReadFile(os.Getenv("MGW_SPEECH")))
	client = openai.NewClient(option.WithAPIKey(key), option.WithBaseURL(url+"/v1"))
	anthropicClient = anthropic.NewClient(anthropicoption.WithAPIKey(key), anthropicoption.WithBaseURL(url))
	geminiClient = must(genai.NewClient(ctx, &genai.ClientConfig{
		APIKey: key, Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: url},
	}))
	for _, call := range []struct {
		name string
		run  func()
	}{
		{"models", models}, {"chat", chat}, {"chat stream", chatStream}, {"responses", response},
		{"responses stream", responseStream}, {"responses continued", continued}, {"conversations", conversation},
		{"completions", completions}, {"embeddings", embeddings}, {"moderations", moderations}, {"images", images},
		{"images stream", imagesStream}, {"image edits", imageEdits}, {"image variations", imageVariations},
		{"speech", speak},
		{"transcriptions", transcriptions}, {"translations", translations}, {"videos", videos},
		{"batches", batches}, {"messages", messages}, {"messages stream", messagesStream},
		{"count tokens", countTokens}, {"message batches", messageBatches},
		{"generateContent", generateContent}, {"generateContent stream", generateContentStream},
		{"embedContent", embedContent},
	} {
		report(call.name, call.run)
	}
}

func report(name string, run func()) {
	defer func() {
		line := map[string]any{"call": name}
		if reason := recover(); reason != nil {
			line["error"] = fmt.Sprint(reason)
		}
		fmt.Println(string(must(json.Marshal(line))))
	}()
	run()
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func expect(holds bool, value any) {
	if !holds {
		panic(fmt.Sprintf("unexpected: %+v", value))
	}
}

// until reads a value every 100 ms until it is done.
func until[T any](read func() T, done func(T) bool) T {
	for range 200 {
		if value := read(); done(value) {
			return value
		}
		time.Sleep(100 * time.Millisecond)
	}
	panic("not done in time")
}

func models() {
	for _, model := range must(client.Models.List(ctx)).Data {
		if model.ID == gpt {
			return
		}
	}
	panic(gpt + " is not listed")
}

func chatParams() openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:     gpt,
		MaxTokens: openai.Int(tokens),
		Messages:  []openai.ChatCompletionMessageParamUnion{openai.UserMessage(hello)},
	}
}

func chat() {
	made := must(client.Chat.Completions.New(ctx, chatParams()))
	expect(made.Choices[0].Message.Content != "" && made.Usage.TotalTokens > 0, made)
}

func chatStream() {
	params := chatParams()
	params.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
	stream := client.Chat.Completions.NewStreaming(ctx, params)
	whole := openai.ChatCompletionAccumulator{}
	for stream.Next() {
		whole.AddChunk(stream.Current())
	}
	expect(stream.Err() == nil, stream.Err())
	expect(whole.Choices[0].Message.Content != "" && whole.Usage.TotalTokens > 0, whole)
}

func responseParams(model, input string) responses.ResponseNewParams {
	return responses.ResponseNewParams{
		Model:           model,
		MaxOutputTokens: openai.Int(tokens),
		Input:           responses.ResponseNewParamsInputUnion{OfString: openai.String(input)},
	}
}

func response() {
	made := must(client.Responses.New(ctx, responseParams(gpt, hello)))
	expect(made.OutputText() != "" && made.Status == "completed", made)
}

func responseStream() {
	stream := client.Responses.NewStreaming(ctx, responseParams(gpt, hello))
	var types []string
	for stream.Next() {
		types = append(types, stream.Current().Type)
	}
	expect(stream.Err() == nil, stream.Err())
	expect(types[0] == "response.created" && types[len(types)-1] == "response.completed", types)
}

func conversation() {
	made := must(client.Conversations.New(ctx, conversations.ConversationNewParams{
		Metadata: map[string]string{"topic": "greetings"},
	}))
	params := responseParams(claude, hello)
	params.Conversation = responses.ResponseNewParamsConversationUnion{OfString: openai.String(made.ID)}
	said := must(client.Responses.New(ctx, params))
	expect(said.OutputText() != "", said)
	items := must(client.Conversations.Items.List(ctx, made.ID, conversations.ItemListParams{
		Order: conversations.ItemListParamsOrderAsc,
	}))
	expect(len(items.Data) == 2 && items.Data[1].Role == "assistant", items)
	expect(must(client.Conversations.Delete(ctx, made.ID)).Deleted, made)
}

func continued() {
	first := must(client.Responses.New(ctx, responseParams(claude, hello)))
	params := responseParams(claude, "Again.")
	params.PreviousResponseID = openai.String(first.ID)
	second := must(client.Responses.New(ctx, params))
	expect(second.OutputText() != "" && second.PreviousResponseID == first.ID, second)
	kept := must(client.Responses.Get(ctx, first.ID, responses.ResponseGetParams{}))
	expect(kept.OutputText() == first.OutputText(), kept)
	expect(client.Responses.Delete(ctx, first.ID) == nil, first.ID)
	expect(client.Responses.Delete(ctx, second.ID) == nil, second.ID)
}

func completions() {
	made := must(client.Completions.New(ctx, openai.CompletionNewParams{
		Model:     gpt,
		MaxTokens: openai.Int(tokens),
		Prompt:    openai.CompletionNewParamsPromptUnion{OfString: openai.String(hello)},
	}))
	expect(made.Choices[0].Text != "", made)
}

func embeddings() {
	made := must(client.Embeddings.New(ctx, openai.EmbeddingNewParams{
		Model: "text-embedding-3-small",
		Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"one", "two"}},
	}))
	expect(len(made.Data) == 2 && len(made.Data[0].Embedding) > 0, made)
}

func moderations() {
	made := must(client.Moderations.New(ctx, openai.ModerationNewParams{
		Model: "omni-moderation-latest",
		Input: openai.ModerationNewParamsInputUnion{OfString: openai.String(hello)},
	}))
	expect(len(made.Results) == 1, made)
}

func images() {
	made := must(client.Images.Generate(ctx, openai.ImageGenerateParams{Model: "gpt-image-1", Prompt: "a cat"}))
	expect(len(made.Data) == 1, made)
}

func imagesStream() {
	stream := client.Images.GenerateStreaming(ctx, openai.ImageGenerateParams{
		Model: "gpt-image-1", Prompt: "a cat", PartialImages: openai.Int(1),
	})
	var types []string
	for stream.Next() {
		types = append(types, stream.Current().Type)
	}
	expect(stream.Err() == nil, stream.Err())
	expect(strings.Join(types, " ") == "image_generation.partial_image image_generation.completed", types)
}

func pictureFile() io.Reader {
	return openai.File(bytes.NewReader(picture), "cat.png", "image/png")
}

func imageVariations() {
	made := must(client.Images.NewVariation(ctx, openai.ImageNewVariationParams{
		Model: "gpt-image-1", Image: pictureFile(),
	}))
	expect(len(made.Data) == 1, made)
}

func imageEdits() {
	files := []io.Reader{pictureFile()}
	made := must(client.Images.Edit(ctx, openai.ImageEditParams{
		Model: "gpt-image-1", Prompt: "a hat", Image: openai.ImageEditParamsImageUnion{OfFileArray: files},
	}))
	expect(len(made.Data) == 1, made)
}

func speak() {
	made := must(client.Audio.Speech.New(ctx, openai.AudioSpeechNewParams{
		Model:          "tts-1",
		Input:          hello,
		Voice:          openai.AudioSpeechNewParamsVoiceUnion{OfString: openai.String("alloy")},
		ResponseFormat: openai.AudioSpeechNewParamsResponseFormatWAV,
	}))
	defer made.Body.Close()
	sound := must(io.ReadAll(made.Body))
	expect(bytes.HasPrefix(sound, []byte("RIFF")), len(sound))
}

func speechFile() io.Reader {
	return openai.File(bytes.NewReader(speech), "speech.wav", "audio/wav")
}

func transcriptions() {
	made := must(client.Audio.Transcriptions.New(ctx, openai.AudioTranscriptionNewParams{
		Model: "whisper-1", File: speechFile(),
	}))
	expect(made.Text != "", made)
}

func translations() {
	made := must(client.Audio.Translations.New(ctx, openai.AudioTranslationNewParams{
		Model: "whisper-1", File: speechFile(),
	}))
	expect(made.Text != "", made)
}

func videos() {
	made := must(client.Videos.New(ctx, openai.VideoNewParams{
		Model: "sora-2", Prompt: "a cat", Seconds: openai.VideoSeconds4,
	}))
	until(
		func() *openai.Video { return must(client.Videos.Get(ctx, made.ID)) },
		func(video *openai.Video) bool { return video.Status == "completed" },
	)
	content := must(client.Videos.DownloadContent(ctx, made.ID, openai.VideoDownloadContentParams{}))
	defer content.Body.Close()
	expect(len(must(io.ReadAll(content.Body))) > 0, made)
}

func batches() {
	line := must(json.Marshal(map[string]any{
		"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": chatParams(),
	}))
	file := must(client.Files.New(ctx, openai.FileNewParams{
		File: openai.File(bytes.NewReader(line), "batch.jsonl", "application/jsonl"), Purpose: "batch",
	}))
	made := must(client.Batches.New(ctx, openai.BatchNewParams{
		InputFileID:      file.ID,
		Endpoint:         openai.BatchNewParamsEndpointV1ChatCompletions,
		CompletionWindow: openai.BatchNewParamsCompletionWindow24h,
	}))
	ended := until(
		func() *openai.Batch { return must(client.Batches.Get(ctx, made.ID)) },
		func(batch *openai.Batch) bool { return batch.Status == "completed" },
	)
	content := must(client.Files.Content(ctx, ended.OutputFileID))
	defer content.Body.Close()
	var result struct {
		CustomID string `json:"custom_id"`
		Response struct {
			StatusCode int `json:"status_code"`
		} `json:"response"`
	}
	first, _, _ := strings.Cut(string(must(io.ReadAll(content.Body))), "\n")
	expect(json.Unmarshal([]byte(first), &result) == nil, first)
	expect(result.CustomID == "a" && result.Response.StatusCode == 200, first)
	expect(must(client.Files.Delete(ctx, file.ID)).Deleted, file.ID)
}

func userMessages() []anthropic.MessageParam {
	return []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(hello))}
}

func messageParams() anthropic.MessageNewParams {
	return anthropic.MessageNewParams{Model: claude, MaxTokens: tokens, Messages: userMessages()}
}

func messages() {
	made := must(anthropicClient.Messages.New(ctx, messageParams()))
	expect(made.Content[0].Text != "" && made.Usage.OutputTokens > 0, made)
}

func messagesStream() {
	stream := anthropicClient.Messages.NewStreaming(ctx, messageParams())
	whole := anthropic.Message{}
	for stream.Next() {
		expect(whole.Accumulate(stream.Current()) == nil, stream.Current())
	}
	expect(stream.Err() == nil, stream.Err())
	expect(whole.Content[0].Text != "" && whole.Usage.OutputTokens > 0, whole)
}

func countTokens() {
	counted := must(anthropicClient.Messages.CountTokens(ctx, anthropic.MessageCountTokensParams{
		Model: claude, Messages: userMessages(),
	}))
	expect(counted.InputTokens > 0, counted)
}

func messageBatches() {
	batches := anthropicClient.Messages.Batches
	made := must(batches.New(ctx, anthropic.MessageBatchNewParams{
		Requests: []anthropic.MessageBatchNewParamsRequest{{
			CustomID: "a",
			Params: anthropic.MessageBatchNewParamsRequestParams{
				Model: claude, MaxTokens: tokens, Messages: userMessages(),
			},
		}},
	}))
	until(
		func() *anthropic.MessageBatch {
			return must(batches.Get(ctx, made.ID, anthropic.MessageBatchGetParams{}))
		},
		func(batch *anthropic.MessageBatch) bool { return batch.ProcessingStatus == "ended" },
	)
	results := batches.ResultsStreaming(ctx, made.ID, anthropic.MessageBatchResultsParams{})
	var types []string
	for results.Next() {
		types = append(types, results.Current().Result.Type)
	}
	expect(results.Err() == nil, results.Err())
	expect(strings.Join(types, " ") == "succeeded", types)
}

func contentConfig() *genai.GenerateContentConfig {
	return &genai.GenerateContentConfig{MaxOutputTokens: tokens}
}

func generateContent() {
	made := must(geminiClient.Models.GenerateContent(ctx, gpt, genai.Text(hello), contentConfig()))
	expect(made.Text() != "" && made.UsageMetadata.TotalTokenCount > 0, made)
}

func generateContentStream() {
	var text strings.Builder
	for chunk, err := range geminiClient.Models.GenerateContentStream(ctx, claude, genai.Text(hello), contentConfig()) {
		text.WriteString(must(chunk, err).Text())
	}
	expect(text.Len() > 0, "no text")
}

func embedContent() {
	contents := []*genai.Content{
		genai.NewContentFromText("one", genai.RoleUser), genai.NewContentFromText("two", genai.RoleUser),
	}
	made := must(geminiClient.Models.EmbedContent(ctx, "text-embedding-3-small", contents, nil))
	expect(len(made.Embeddings) == 2, made)
}
